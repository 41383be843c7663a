import type { ComponentChildren } from 'preact'

/** A name and what it says, in a `<dl class="facts">`; nothing where nothing is known. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return children === null ? null : (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}
