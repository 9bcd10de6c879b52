// The types of ui.js, with an `h` that checks the attributes of elements, which Preact's own does not.
import type { Attributes, ComponentChild, ComponentChildren, ComponentType, ContainerNode, JSX, VNode } from "preact";

export type { ComponentChild, ComponentChildren, VNode };
export type Child = ComponentChildren;

export function h<K extends keyof JSX.IntrinsicElements>(
  tag: K, attributes: JSX.IntrinsicElements[K] & { [data: `data-${string}`]: unknown } | null, ...children: ComponentChildren[]
): VNode;
export function h<P>(
  component: ComponentType<P>, properties: (Omit<P, "children"> & Attributes) | null, ...children: ComponentChildren[]
): VNode;

export function render(node: ComponentChild, parent: ContainerNode): void;
export { Component, Fragment, createRef } from "preact";
export { useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export {
  batch, computed, effect, signal, untracked, useComputed, useSignal, useSignalEffect,
} from "@preact/signals";
export type { ReadonlySignal, Signal } from "@preact/signals";
export { Lexer } from "marked";
export type { MarkedOptions, Token, Tokens } from "marked";
