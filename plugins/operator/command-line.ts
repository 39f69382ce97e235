/** Makes the commands of operators from the table of operations. */
import { userInfo } from 'node:os'
import { UsageError } from '../../engine/cli/kit.ts'
import type { CommandResult, Fault, HostBase, Json, SingleCommand } from '../../engine/plugin.ts'
import { configuredCurrency } from '../billing/currency.ts'
import { validatorOf } from '../schema/compile.ts'
import { type Actor, type CommandInput, type Operation, runOperation } from './operation.ts'
import { moneyMembers, withCurrency } from './printed-money.ts'
import { type Cells, singleRow } from './rows.ts'

/** A container may run as a user without a name. */
export const commandActor = (): Actor => {
  const actor = { via: 'command line', name: 'command line' } as const
  try {
    return { ...actor, user: userInfo().username }
  } catch {
    return { ...actor, user: String(process.getuid?.() ?? '') }
  }
}

/** Commands by verb, of operations that share a noun. `prepare` is called before each. */
export const subcommandsOf = (
  operations: readonly Operation[],
  prepare: (host: HostBase) => void = () => {},
): Readonly<Record<string, SingleCommand>> =>
  Object.fromEntries(
    operations.flatMap(operation => {
      const { name, summary, command } = operation
      if (!command) return []
      const { read, arguments: words, example, options } = command
      const single: SingleCommand = {
        summary,
        example,
        ...(words !== undefined && { arguments: words }),
        ...(options && { options }),
        async run({ positionals, values }, host) {
          prepare(host)
          const input = { positionals, values, host }
          const args = read ? ((await read(input)) as Json) : argumentsIn(input, operation)
          const { name: currency } = configuredCurrency(host)
          return printedOf(operation, await runWhole(operation, args, host), currency)
        },
      }
      return [[name.split(' ')[1] ?? '', single]]
    }),
  )

const argumentsIn = (
  { positionals, values }: CommandInput,
  { arguments: { schema }, command }: Operation,
): Json => {
  const names = Object.keys(schema.properties ?? {})
  const options = Object.keys(command?.options ?? {})
  const entries = [
    ...positionals.map((word, index) => [names[index], word]),
    ...options.map(option => [option.replaceAll('-', '_'), values[option]]),
  ]
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}
/** The printed result of an operation. */
export const printedOf = (
  { command, result }: Operation,
  data: unknown,
  currency: string,
): CommandResult => {
  const { print = printData } = command ?? {}
  return withCurrency(print(data, currency), moneyMembers(result), currency)
}
const printData = (data: unknown): CommandResult =>
  Array.isArray(data) ? { rows: data } : singleRow(data as Cells)

/** Throws a UsageError that names the option or the argument, such as `--at-limit` or `PER`. */
const checkArguments = (
  { name, arguments: shape, command }: Operation,
  args: Json,
  host: HostBase,
) => {
  const invalid = validatorOf(shape.schema as Json, name, host).validate(args)
  if (!invalid) return
  const { message, param = '' } = invalid as Fault & { readonly param?: string }
  const [, member = '', rest = ''] = /^(\w+)(.*)$/.exec(param) ?? []
  const option = member.replaceAll('_', '-')
  const word = option.toUpperCase()
  const isWord = command?.arguments?.match(/[\w-]+/g)?.includes(word)
  const label = command?.options?.[option] ? `--${option}${rest}` : isWord ? word : undefined
  throw new UsageError(label ? message.replaceAll(`'${param}'`, label) : message)
}

/** Checks the arguments first. A list has all its pages. */
export const runWhole = async (
  operation: Operation,
  args: Json,
  host: HostBase,
): Promise<unknown> => {
  checkArguments(operation, args, host)
  const actor = commandActor()
  const run = (more: object) =>
    runOperation(operation, { ...(args as object), ...more }, { host, actor })
  const { data, next } = await run({})
  if (!Array.isArray(data) || operation.command?.isFirstPage) return data
  const rows: unknown[] = [...data]
  for (let cursor = next; cursor != null; ) {
    const page = await run({ cursor })
    rows.push(...(page.data as readonly unknown[]))
    cursor = page.next
  }
  return rows
}
