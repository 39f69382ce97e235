/** Operations: what operators and customers do to accounts, keys, tasks and webhooks. Each is
 *  defined once; its command, its admin endpoint, the customer's endpoint and their documentation
 *  are made from the definition. */
import type { RawOf, Shape, ValueOf } from '../../engine/config/shape.ts'
import type {
  CommandArguments,
  CommandOption,
  CommandResult,
  Database,
  Exchange,
  HostBase,
  Json,
  Row,
  Statement,
} from '../../engine/plugin.ts'
import type { Actor, Change } from '../action-log/action.ts'
import { recordAction } from '../action-log/record.ts'
import type { Access } from '../credentials/members.ts'
import type { Shape as View } from '../shapes.ts'
import { type Account, KEY_USE, type KeyUse, type Member } from '../slots.ts'

/** `operator`: the command line and /api/admin. `own`: the customer's endpoints, for the account of
 *  the caller only. */
type Scope = 'operator' | 'own' | 'both'

/** Where a request comes from, and with which credential of the account. */
export const originOf = (
  { id, request }: Exchange,
  account: Account,
): Pick<Actor, 'account' | 'credential' | 'address' | 'request'> => {
  const credential = credentialOf(account)
  return {
    account: account.id,
    address: request.client.address,
    request: id,
    ...(credential !== undefined && { credential }),
  }
}
const credentialOf = ({ key, token, session }: Account): string | undefined => {
  if (session !== undefined) return `session ${session}`
  if (token !== undefined) return `system token ${token}`
  return key && `key ${key.id}`
}

/** The reply may show a secret, until an operation says that its result shows none. */
export const withholdReply = ({ slots }: Exchange): void => {
  const keyUse = slots.get(KEY_USE)
  if (keyUse) keyUse.mayShowSecret = true
}

export type { Actor }
/** How operations use the database. Every write is a change: it is retried while its result is
 *  unknown, and its row in the log of actions is in its transaction. */
export interface Store extends Pick<Database, 'read' | 'pages' | 'now'> {
  change(list: readonly Statement[], change: Change): Promise<readonly (readonly Row[])[]>
}
export interface Context {
  readonly host: HostBase
  readonly store: Store
  readonly actor: Actor
  /** ms since 1970, by the clock of the database. */
  readonly now: number
  /** The account of a customer, which may change nothing else; undefined: an operator. */
  readonly own: number | undefined
  /** The member of the team that calls; undefined: the account itself, or an operator. */
  readonly member: Member | undefined
}

/** Shape of the arguments. */
type Arguments = Shape<never, unknown>
export interface CommandInput extends Pick<CommandArguments, 'positionals' | 'values'> {
  readonly host: HostBase
}
/** How the command line reads the arguments and prints the result. */
interface CommandForm<A extends Arguments, Data> {
  /** After the name: `NAME AMOUNT`, `[NAME]`. */
  readonly arguments?: string
  readonly example: string
  readonly options?: Readonly<Record<string, CommandOption>>
  /** Throws a UsageError for bad input. By default the words are the first arguments in their
   *  order, and options have the names of arguments. */
  read?(input: CommandInput): RawOf<A> | Promise<RawOf<A>>
  /** By default a list is printed as rows, and an object as one row. `currency`: the code of the
   *  amounts. Columns of amounts get it in their head by themselves. */
  print?(data: Data, currency: string): CommandResult
  /** It prints the first page of a list only. */
  readonly isFirstPage?: true
}
/** A view of the plugin `account` that runs the operation for its caller. Members of the path, the
 *  query and the body are the arguments. */
export interface OwnForm {
  readonly view: string
  readonly summary?: string
  /** JSON Schema of `data`, if it is another for customers. */
  readonly result?: View
  /** Arguments that the view has already. */
  readonly fixed?: { readonly [name: string]: Json }
  /** The role of a member must allow it; by default `read`, or `manage` for a change. */
  readonly access?: Access
  /** The name of the argument in the path. */
  readonly inPath?: string
  /** Arguments that the view has not. The account is always that of the caller. */
  readonly without?: readonly string[]
  /** Of its response; 200 by default. */
  readonly status?: number
}
export interface Definition<A extends Arguments, Data> {
  /** A noun and a verb: `keys create`. */
  readonly name: string
  /** One sentence, for the help, the list of endpoints and the OpenAPI document. */
  readonly summary: string
  readonly scope: Scope
  /** It changes nothing. */
  readonly reads?: true
  /** Its result shows a secret: no repetition with the same Idempotency-Key gets it. */
  readonly showsSecret?: true
  /** It writes files of the configuration: over HTTP only if the console may edit them. */
  readonly edits?: true
  /** It shows prompts or secrets: a row of the log of actions names what it shows. */
  reveals?(args: ValueOf<A>): string
  readonly arguments: A
  /** Of `data`. */
  readonly result: View<Data>
  /** An earlier name of its endpoint, which works too. */
  readonly earlier?: string
  readonly command?: CommandForm<A, NoInfer<Data>>
  readonly own?: readonly OwnForm[]
  run(context: Context, args: ValueOf<A>): Promise<Result<NoInfer<Data>>>
}
export interface Result<Data = unknown> {
  readonly data: Data
  /** Cursor of the next page of a list. */
  readonly next?: string | null
}
/** A definition in the table. Arguments must fit its schema. */
export interface Operation
  extends Omit<Definition<Arguments, never>, 'arguments' | 'command' | 'reveals' | 'run'> {
  readonly arguments: { readonly schema: Arguments['schema'] }
  readonly command?: CommandForm<Shape<Json, unknown>, unknown>
  reveals?(args: Json): string
  run(context: Context, args: Json): Promise<Result>
}
/** Checks the types of a definition. */
export const operation = <A extends Arguments, Data>(
  definition: Definition<A, Data>,
): Operation => {
  const { arguments: shape, run } = definition
  const entry = {
    ...definition,
    run: (context: Context, args: Json) => run(context, shape.read(args as never) as ValueOf<A>),
  }
  return entry as unknown as Operation
}

/** `GET accounts` lists, `POST accounts` creates, `GET accounts/show` reads, `POST accounts/rename`
 *  changes. */
export const endpointOf = ({ name, reads }: Operation): string => {
  const [noun, verb] = name.split(' ')
  const method = reads ? 'GET' : 'POST'
  return `${method} ${noun}${verb === 'list' || verb === 'create' ? '' : `/${verb}`}`
}

// ---------------------------------------------------------------- running

interface Caller {
  readonly host: HostBase
  readonly actor: Actor
  readonly own?: number
  readonly member?: Member | undefined
  readonly keyUse?: KeyUse | undefined
}
/** Runs an operation with arguments that fit its schema. Resolves to its result, and to what it
 *  changed. */
export const runOperation = async (
  operation: Operation,
  args: Json,
  { host, actor, own, member, keyUse }: Caller,
): Promise<Result & { readonly changes: readonly Change[] }> => {
  if (keyUse) keyUse.mayShowSecret = operation.showsSecret === true
  const changes: Change[] = []
  const { database } = host
  const record = (list: readonly Statement[], change: Change) =>
    recordAction(host, list, { ...change, operation: operation.name, actor })
  const store: Store = {
    read: (sql, values) => database.read(sql, values),
    pages: (sql, values, size) => database.pages(sql, values, size),
    now: () => database.now(),
    async change(list, change) {
      const used = keyUse ? [keyUse.useUp()] : []
      const rows = await record([...list, ...used], change)
      changes.push(change)
      return rows.slice(0, list.length)
    },
  }
  const object = operation.reveals?.(args)
  if (object !== undefined) await record([], { object, before: null, after: null })
  const context = { host, store, actor, own, member, now: await database.now() }
  return { ...(await operation.run(context, args)), changes }
}
