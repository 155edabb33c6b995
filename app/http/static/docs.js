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
    requestInterceptor: (request) => {
      request.headers["X-Interlace-Request"] = "1"; // no form of another page can say so
      return request;
    },
    presets: [SwaggerUIBundle.presets.apis],
  });
});
