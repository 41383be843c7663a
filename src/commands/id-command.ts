import type { Database } from '@/db/connect.ts'
import { type Command, type CommandIo, readArguments, readId } from './command.ts'
import { withDatabase } from './deployment.ts'

/** What commands act on by its id: an account or a key. */
export interface Subject<Row> {
  noun: 'account' | 'key'
  /** Prints it as it is now. */
  show(io: CommandIo, json: boolean, row: Row): void
}

/** A command that takes the id of a subject, does something about it, and shows it as it is afterwards. */
export function idCommand<Row>(
  { noun, show }: Subject<Row>,
  verb: string,
  summary: string,
  act: (db: Database, id: number) => Promise<Row>,
): Command {
  return {
    name: `${noun} ${verb}`,
    summary,
    usage: 'ID',
    details: `ID  the number that "${noun} list" shows`,
    async run(args, io) {
      const { json, positionals } = readArguments(args, {}, ['ID'])
      const id = readId(positionals[0] ?? '', 'ID')
      show(io, json, await withDatabase(io, db => act(db, id)))
      return 0
    },
  }
}
