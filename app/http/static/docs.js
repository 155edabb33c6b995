"use strict";

window.addEventListener("load", () => {
  window.ui = SwaggerUIBundle({
    url: "/openapi.json",
    dom_id: "#swagger-ui",
    deepLinking: true,
    tryItOutEnabled: true,
    displayRequestDuration: true,
    syntaxHighlight: { activated: false },
    validatorUrl: null,
    presets: [SwaggerUIBundle.presets.apis],
  });
});
