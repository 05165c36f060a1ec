// Which theme was chosen is known before anything is painted, so that nothing flashes.
(function () {
  "use strict";
  try {
    const chosen = localStorage.getItem("bascule-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch { /* a browser that keeps nothing shows what the system wants */ }
  document.documentElement.classList.add("js");
})();
