// The types of math.js.
export function render(tex: string, place: HTMLElement, options: { displayMode: boolean; throwOnError: boolean; maxSize: [em: number, points: number] }): void;
