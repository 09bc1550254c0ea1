// Sets the chosen theme before anything is painted.
try {
  const theme = localStorage.getItem("headwise.theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch { /* storage is switched off: the system's theme is used */ }
