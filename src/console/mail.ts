import type { NodemailerError } from 'nodemailer'
import type { SmtpEntry } from '@/config/entries.ts'

/** A mail in plain text. */
export interface Mail {
  to: string
  subject: string
  text: string
}

/** Sends one mail, or rejects. */
export type SendMail = (server: SmtpEntry, mail: Mail) => Promise<void>

/** A server that does not answer must not keep a person waiting for long. */
const PATIENCE_MS = 10_000

/** Through an SMTP server; with a password only over TLS. */
export const sendMail: SendMail = async (server, { to, subject, text }) => {
  // Loaded with the first mail: many deployments send none.
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({
    host: server.host,
    port: server.port,
    secure: server.secure,
    requireTLS: !server.secure && server.password !== undefined,
    connectionTimeout: PATIENCE_MS,
    greetingTimeout: PATIENCE_MS,
    socketTimeout: PATIENCE_MS,
    ...(server.user === undefined ? {} : { auth: { user: server.user, pass: server.password ?? '' } }),
  })
  try {
    // As one address: read as a list it could name others.
    await transport.sendMail({ from: server.from, to: { name: '', address: to }, subject, text })
  } finally {
    transport.close()
  }
}

/**
 * Whether it is this mail that could not be sent, since its address or its content is refused: `for good`, or `for now`.
 * Undefined: no other could be sent either.
 */
export function mailRefusal(error: unknown): 'for good' | 'for now' | undefined {
  const { code, command, permanent }: NodemailerError = error instanceof Error ? error : new Error()
  const isOfMail = (code === 'EENVELOPE' || code === 'EMESSAGE') && command !== 'MAIL FROM'
  if (!isOfMail) return undefined
  // Without a command of the server nodemailer itself takes the address for none.
  return permanent === true || command === 'API' ? 'for good' : 'for now'
}
