import { useEffect, useState } from 'preact/hooks'
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'
import { useToast } from './toast.tsx'

const SAID_MS = 3000

/** Puts a text on the clipboard, and says whether it did. */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const toast = useToast()
  const [said, setSaid] = useState<'Copied' | 'Select it to copy'>()
  useEffect(() => {
    if (said === undefined) return
    const timer = setTimeout(() => setSaid(undefined), SAID_MS)
    return () => clearTimeout(timer)
  }, [said])
  return (
    <Button
      small
      aria-label={`Copy ${what}`}
      onClick={async () => {
        const isCopied = await copy(text)
        setSaid(isCopied ? 'Copied' : 'Select it to copy')
        toast(
          isCopied ? `Copied ${what}` : `The browser did not let ${what} be copied: select it and copy it`,
        )
      }}
    >
      <Icon name={said === 'Copied' ? 'check' : 'copy'} size={16} /> {said ?? 'Copy'}
    </Button>
  )
}

/** A block of code with its copy button. */
export function Code({ text, what }: { text: string; what: string }) {
  return (
    <div class="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} what={what} />
    </div>
  )
}

/** The clipboard of the browser is there on https and localhost only; elsewhere a selection is copied the old way. */
async function copy(text: string): Promise<boolean> {
  if (navigator.clipboard !== undefined && window.isSecureContext) {
    const isWritten = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    )
    if (isWritten) return true
  }
  const focused = document.activeElement
  const holder = document.createElement('textarea')
  holder.value = text
  // Inside the open dialog, since everything outside a modal one is inert.
  const parent = document.querySelector('dialog[open]') ?? document.body
  parent.append(holder)
  holder.select()
  const isCopied = document.execCommand('copy')
  holder.remove()
  if (focused instanceof HTMLElement) focused.focus()
  return isCopied
}
