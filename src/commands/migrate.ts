import { type Command, readArguments } from './command.ts'
import { withDatabase } from './deployment.ts'
import { print } from './output.ts'

/** `migrate`: for deployments that bring the schema up before they start. */
export const migrateCommand: Command = {
  name: 'migrate',
  summary: 'bring the database to the schema of this version',
  usage: '',
  details: 'Any number of processes may run it at once: one does the work, the others wait for it.',
  async run(args, io) {
    const { json } = readArguments(args, {})
    const applied = await withDatabase(io, async db => db.migrated)
    print(io, json, { applied }, () => `${applied} migrations applied`)
    return 0
  },
}
