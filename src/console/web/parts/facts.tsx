import type { ComponentChildren } from 'preact'
import { Money } from './money.tsx'

/** A name and what it says, in a `<dl class="facts">`; nothing where nothing is known. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return children === null ? null : (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}

interface FigureProps {
  name: string
  /** What is large. */
  children: ComponentChildren
  note?: ComponentChildren
  isCard?: boolean
  testId?: string
}

/** A sum to look at, in a `<dl>`. */
export function Figure({ name, children, note, isCard = false, testId }: FigureProps) {
  return (
    <div class={isCard ? 'card figure' : 'figure'}>
      <dt>{name}</dt>
      <dd data-testid={testId}>{children}</dd>
      {note === undefined ? null : <dd class="note">{note}</dd>}
    </div>
  )
}

/** An amount to look at, rounded. */
export function MoneyFigure({ amount, ...rest }: Omit<FigureProps, 'children'> & { amount: string }) {
  return (
    <Figure {...rest}>
      <Money amount={amount} style="short" />
    </Figure>
  )
}
