/* The tips of the plots: what lies under the pointer is told, as text. */
"use strict";
(() => {
  const tip = document.getElementById("tip");
  const hide = () => { tip.hidden = true; };
  document.addEventListener("pointerover", (event) => {
    const mark = event.target.closest("[data-tip]");
    if (!mark) return hide();
    tip.textContent = mark.dataset.tip;
    tip.hidden = false;
    const box = mark.getBoundingClientRect();
    const left = box.left + box.width / 2 - tip.offsetWidth / 2;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 6;
    const above = box.top - tip.offsetHeight - 8;
    tip.style.left = Math.max(6, Math.min(left, room)) + "px";
    tip.style.top = (above > 4 ? above : box.bottom + 8) + "px";
  });
  document.addEventListener("scroll", hide, { passive: true });
})();
