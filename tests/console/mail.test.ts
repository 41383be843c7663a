import { expect, test } from 'bun:test'
import { mailRefusal, sendMail } from '@/console/mail.ts'

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

test.each([
  ['RCPT', '550 no such person', 'for good'],
  ['RCPT', '450 come again', 'for now'],
  ['MAIL', '550 not from you', undefined],
  ['DATA', '554 no', 'for good'],
  ['DATA', '451 later', 'for now'],
] as const)('%s that is answered with %s: the mail is refused %s', async (command, answer, refused) => {
  await using server = mailServer({ [command]: answer })
  const mail = { to: 'ada@example.com', subject: 'Your account', text: 'Here' }
  const error = await sendMail(server.entry, mail).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(Error)
  expect(mailRefusal(error)).toBe(refused)
})

test('a server that is not there refuses no mail', async () => {
  const server = mailServer()
  await server[Symbol.asyncDispose]()
  const mail = { to: 'ada@example.com', subject: 'Your account', text: 'Here' }
  const error = await sendMail(server.entry, mail).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(Error)
  expect(mailRefusal(error)).toBeUndefined()
})

/** Takes every mail, but for commands that are answered otherwise, and keeps what it is told. */
function mailServer(answers: Partial<Record<string, string>> = {}) {
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
            const answer = answers[line.slice(0, 4)]
            isText = line === 'DATA\r\n' && answer === undefined
            socket.write(`${answer ?? (isText ? '354 go on' : '250 fine')}\r\n`)
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
