"use strict";

// Light and dark: what the style sheet has for either, for plotly.

const DARK = matchMedia("(prefers-color-scheme: dark)");

/** Whether the page is dark: as chosen, or as the system is; paper is white. */
const isDark = () =>
  !state.printing && (state.theme === null ? DARK.matches : state.theme === "dark");

const styled = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Of two colours #rrggbb, the one that lies a share of the way to the other. */
function mixed(one, other, share) {
  const parts = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const to = parts(other);
  const bytes = parts(one).map((byte, i) => Math.round(byte + share * (to[i] - byte)));
  return `#${bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** What all charts share. */
function chartLayout() {
  return {
    font: {
      family: styled("font"),
      color: styled("ink"),
      size: 13,
    },
    paper_bgcolor: styled("paper"),
    plot_bgcolor: styled("paper"),
    hoverlabel: {
      bgcolor: styled("ground"),
      bordercolor: styled("line"),
      font: { color: styled("ink"), family: styled("font"), size: 13 },
      align: "left",
    },
  };
}

function applyTheme() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  $("theme").textContent = isDark() ? "Light" : "Dark";
}

function switchTheme() {
  state.theme = isDark() ? "light" : "dark";
  applyTheme();
  schedule(...ALL_DRAWINGS);
}
