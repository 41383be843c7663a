import { expect, test } from 'bun:test'
import { sendMail } from '@/console/sign-in/mail.ts'

test('a mail is what its server is told, from whom the operator says, and in plain text', async () => {
  await using server = mailServer()
  await sendMail(server.entry, {
    to: 'ada@example.com',
    subject: 'Your account',
    text: 'Here:\n\nhttp://x/\n',
  })
  expect(server.said()).toContain('MAIL FROM:<gateway@example.com>')
  expect(server.recipients()).toEqual(['<ada@example.com>'])
  expect(server.said()).toMatch(/^From: Tollgate <gateway@example\.com>\r$/m)
  expect(server.said()).toMatch(/^Subject: Your account\r$/m)
  expect(server.said()).toContain('\r\n\r\nHere:\r\n\r\nhttp://x/\r\n')
})

test.each([
  ['ada<victim@example.com>', '<victim@example.com>'],
  ['ada,victim@example.com', '<victim@example.com>'],
  ['(ada)victim@example.com', '<victim@example.com>'],
  ['"victim@example.com"', '<victim@example.com>'],
])('what somebody gave as the address %s is no way to write to another one', async (to, other) => {
  await using server = mailServer()
  await sendMail(server.entry, { to, subject: 'Your account', text: 'Here' }).catch(() => {})
  expect(server.recipients()).not.toContain(other)
})

/** Takes every mail and keeps what it is told. */
function mailServer() {
  let said = ''
  let isText = false
  const listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open: socket => void socket.write('220 here\r\n'),
      data(socket, bytes) {
        for (const line of bytes.toString().split(/(?<=\n)/)) {
          said += line
          if (isText) {
            isText = line !== '.\r\n'
            if (!isText) socket.write('250 taken\r\n')
          } else {
            isText = line === 'DATA\r\n'
            socket.write(isText ? '354 go on\r\n' : '250 fine\r\n')
          }
        }
      },
    },
  })
  return {
    entry: {
      host: '127.0.0.1',
      port: listener.port,
      secure: false,
      user: undefined,
      password: undefined,
      from: 'Tollgate <gateway@example.com>',
    },
    said: () => said,
    recipients: () => [...said.matchAll(/^RCPT TO:(\S+)/gm)].map(([, address]) => address),
    async [Symbol.asyncDispose]() {
      listener.stop(true)
    },
  }
}
