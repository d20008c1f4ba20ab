// Keyboard and pointer of the waterfall of calls.
"use strict";
waterfalls.Input = (() => {
  const CLICK_PX = 4; // a shorter drag is a click
  const { clamp, element } = waterfalls;

  return class Input extends waterfalls.Drawing {
    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const page = Math.max(Math.floor(this.rows.clientHeight / this.height) - 1, 1);
      const length = this.to - this.from;
      const here = Math.max(this.selected, 0);
      const actions = {
        ArrowDown: () => this.select(this.selected + 1),
        ArrowUp: () => this.select(here - 1),
        PageDown: () => this.select(here + page),
        PageUp: () => this.select(here - page),
        Home: () => this.select(0),
        End: () => this.select(this.shown.length - 1),
        Enter: () => this.selected >= 0 && this.open(this.shown[this.selected]),
        " ": () => this.selected >= 0 && this.open(this.shown[this.selected]),
        Escape: () => (this.detail.hidden ? this.show(this.first, this.end) : this.close()),
        ArrowLeft: () => this.show(this.from - length / 4, this.to - length / 4),
        ArrowRight: () => this.show(this.from + length / 4, this.to + length / 4),
        "+": () => this.zoom(0.5),
        "=": () => this.zoom(0.5),
        "-": () => this.zoom(2),
        0: () => this.show(this.first, this.end),
        "/": () => this.search.focus(),
      };
      if (!actions[event.key]) return;
      event.preventDefault();
      actions[event.key]();
    }

    // The time under a pointer; on the map of the whole, elsewhere of the part in sight.
    timeAt(event, area) {
      const box = (area === this.map ? this.map : this.axis).getBoundingClientRect();
      const part = clamp((event.clientX - box.left) / box.width, 0, 1);
      return area === this.map ? this.first + part * (this.end - this.first) : this.from + part * (this.to - this.from);
    }

    startDrag(event, area) {
      this.dragged = false;
      if (event.button || event.pointerType === "touch" && area !== this.map) return;
      if (event.clientX < this.axis.getBoundingClientRect().left || event.clientX > this.axis.getBoundingClientRect().right - (area === this.rows ? 14 : 0)) return;
      const startX = event.clientX;
      const start = this.timeAt(event, area);
      const box = area.getBoundingClientRect();
      const mark = element("div", "drag");
      const move = (moved) => {
        if (Math.abs(moved.clientX - startX) < CLICK_PX && !this.dragged) return;
        if (!this.dragged) {
          this.dragged = true;
          area.append(mark);
          area.setPointerCapture?.(event.pointerId);
        }
        const edge = this.axis.getBoundingClientRect();
        const x = clamp(moved.clientX, edge.left, edge.right);
        mark.style.left = `${Math.min(startX, x) - box.left}px`;
        mark.style.width = `${Math.abs(x - startX)}px`;
        mark.style.height = area === this.rows ? `${this.rows.scrollHeight}px` : "";
      };
      const end = (ended) => {
        area.removeEventListener("pointermove", move);
        area.removeEventListener("pointerup", end);
        area.removeEventListener("pointercancel", end);
        mark.remove();
        if (!this.dragged || ended.type === "pointercancel") return;
        const other = this.timeAt(ended, area);
        this.show(Math.min(start, other), Math.max(start, other));
        setTimeout(() => (this.dragged = false));
      };
      area.addEventListener("pointermove", move);
      area.addEventListener("pointerup", end);
      area.addEventListener("pointercancel", end);
      event.preventDefault(); // no text is selected; the focus is set here
      this.rows.focus({ preventScroll: true });
    }

    wheel(event) {
      const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (event.ctrlKey) this.zoom(Math.exp(clamp(event.deltaY, -80, 80) / 200), this.timeAt(event, event.currentTarget));
      else if (isSideways && (this.from > this.first || this.to < this.end)) {
        const moved = ((event.deltaX || event.deltaY) / Math.max(this.axis.clientWidth, 1)) * (this.to - this.from);
        this.show(this.from + moved, this.to + moved);
      } else return;
      event.preventDefault();
    }
  };
})();
