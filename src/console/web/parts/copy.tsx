import { useState } from 'preact/hooks'
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'
import { useToast } from './toast.tsx'

/** Puts a text on the clipboard, and says that it did. */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const toast = useToast()
  const [copied, setCopied] = useState(false)
  return (
    <Button
      small
      aria-label={`Copy ${what}`}
      onClick={async () => {
        await copy(text)
        setCopied(true)
        toast(`Copied ${what}`)
      }}
    >
      <Icon name={copied ? 'check' : 'copy'} size={16} /> {copied ? 'Copied' : 'Copy'}
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
async function copy(text: string): Promise<void> {
  if (navigator.clipboard !== undefined && window.isSecureContext) {
    await navigator.clipboard.writeText(text)
    return
  }
  const holder = document.createElement('textarea')
  holder.value = text
  // Inside the open dialog, since everything outside a modal one is inert.
  const parent = document.querySelector('dialog[open]') ?? document.body
  parent.append(holder)
  holder.select()
  document.execCommand('copy')
  holder.remove()
}
