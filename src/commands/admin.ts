import { reachable } from '@/commands/serve/console.ts'
import { COMMAND_LINE, writeAct } from '@/console/acts.ts'
import { makeLink } from '@/console/sign-in/links.ts'
import { type Command, readArguments, requiredEmail } from './command.ts'
import { withDatabase } from './deployment.ts'
import { print } from './output.ts'

const inviteCommand: Command = {
  name: 'admin invite',
  summary: 'make a one-time link that makes a console administrator',
  usage: '--email E',
  details:
    '--email E  who signs in with it, for a week from now; somebody who does already gets a new password',
  async run(args, io) {
    const words = readArguments(args, { email: 'text' })
    const email = requiredEmail(words)
    const { url } = await withDatabase(io, async ({ orm }, { publicConsoleUrl, console: { host, port } }) => {
      const address = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
      const maker = {
        now: io.now,
        publicUrl: () => publicConsoleUrl ?? reachable(address),
      }
      return orm.transaction(async tx => {
        const link = await makeLink(maker, tx, { kind: 'invite', email, role: 'owner' })
        const after = { email, role: 'owner' }
        await writeAct(tx, COMMAND_LINE, {
          action: 'user.invite',
          target: `address ${email}`,
          before: null,
          after,
        })
        return link
      })
    })
    print(io, words.json, { url }, () => url)
    return 0
  },
}

/** `admin ...`: who may sign in to the console. */
export const adminCommands: readonly Command[] = [inviteCommand]
