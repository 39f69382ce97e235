/** Runs one verb of a command and prints what it says: columns for people, JSON for programs. */
import { columns, EXIT, UsageError } from '../../engine/cli/kit.ts'
import type { Command, Fault, Lent } from '../../engine/plugin.ts'

export type Args = Parameters<Command['run']>[0]
/** `rows` are printed as columns; `json`, where it says more, in their place for programs. */
export interface Said {
  readonly rows: readonly Readonly<Record<string, string | number>>[]
  readonly json?: unknown
  readonly after?: string
}
export type Verb = (args: Args, host: Lent) => Promise<Said>

/** Of a fault whose cause is how something was written, not how things stand. */
const MALFORMED = 400

export const runVerb = (
  verbs: Readonly<Record<string, Verb>>,
  args: Args,
  host: Lent,
): Promise<number> =>
  runOne(
    async () => {
      const [name = '', ...positionals] = args.positionals
      const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined
      if (!verb) throw new UsageError(`Say which: ${Object.keys(verbs).join(', ')}`)
      return verb({ ...args, positionals }, host)
    },
    args,
    host,
  )

/** The same where a command is one verb by itself. */
export const runOne = async (verb: Verb, args: Args, host: Lent): Promise<number> => {
  const json = args.values.json === true
  try {
    const said = await verb(args, host)
    process.stdout.write(json ? `${JSON.stringify(said.json ?? said.rows, null, 2)}\n` : text(said))
    return EXIT.ok
  } catch (error) {
    const { code, message, status } = error as Fault
    const known = error instanceof UsageError ? 'USAGE' : code
    const sentence = json ? JSON.stringify({ error: { code: known, message } }) : message
    process.stderr.write(`${sentence}\n`)
    return error instanceof UsageError || status === MALFORMED ? EXIT.usage : EXIT.runTime
  }
}

const text = ({ rows, after = '' }: Said): string => {
  const [first] = rows
  if (!first) return `none\n${after}`
  const names = Object.keys(first)
  const lines = [names, ...rows.map(row => names.map(name => String(row[name] ?? '')))]
  return `${columns(lines).join('\n')}\n${after}`
}
