// Before anything is drawn: the theme that this reader chose, else the system's.
{
  const chosen = localStorage.getItem("theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
}
