// What all pages have: the choice of a theme, and the API key where one is needed.

import { askForKey, hasKey } from "./service/api.js";

/** Whether the page is dark now. */
export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

document.getElementById("theme").addEventListener("click", () => {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("theme", theme);
  dispatchEvent(new Event("themechange"));
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
  dispatchEvent(new Event("themechange")),
);

const key = document.getElementById("key");
key.hidden = !hasKey();
key.addEventListener("click", async () => {
  if (await askForKey()) location.reload(); // what is shown may be another owner's
});
addEventListener("keychange", () => (key.hidden = false)); // who was asked may give it later
