/** The commands `tollgate apply FILE` and `tollgate export accounts`. */
import { EXIT, textOf, UsageError } from '../../engine/cli/kit.ts'
import { nearest } from '../../engine/config/nearest.ts'
import { errors } from '../../engine/errors.ts'
import type { CommandResult, HostBase, Json, SingleCommand } from '../../engine/plugin.ts'
import { modelsOf, unknownModelIn } from '../catalogue/configured.ts'
import { plansIn } from '../ledger/plans/section.ts'
import { runWhole } from '../operator/command-line.ts'
import { OPERATIONS } from '../operator/table.ts'
import { budgetsEntry } from './budgets.ts'
import { type DeclaredAccount, readDocument } from './document.ts'
import { type KnownNames, planOf } from './plan.ts'
import { commandForSecrets, fileForSecrets, type Secrets } from './secrets.ts'
import { readSource } from './source.ts'
import type { Step } from './step.ts'
import { readStored } from './stored.ts'

const fault = errors({
  APPLY_SECRET: [
    503,
    'The secret of the %s could not be stored: %s; %s. Earlier changes stay: run the command again',
  ],
})

export const applyCommand: SingleCommand = {
  arguments: 'FILE',
  summary:
    'Changes accounts, their plans, budgets, members and API keys to match a file. Accounts that the file does not name stay.',
  example: 'tollgate apply accounts.yaml --secrets secrets.jsonl',
  options: {
    'dry-run': {
      type: 'boolean',
      summary: 'only show what would change; exit code 1 if anything would',
    },
    prune: {
      type: 'boolean',
      summary:
        'also remove what the file does not name: keys, members and budgets of its accounts, and other accounts of customers',
    },
    'allow-empty': {
      type: 'boolean',
      summary: 'with --prune: a file without customers may delete all of them',
    },
    secrets: {
      type: 'string',
      value: 'FILE',
      summary:
        'the file that gets secrets of new keys and sign-in links of new members, as JSON lines',
    },
    'secrets-command': {
      type: 'string',
      value: 'COMMAND',
      summary: 'in place of a file: a command that gets each secret or link on its standard input',
    },
  },
  async run({ positionals: [file = ''], values }, host) {
    const options = { prunes: values.prune === true, allowsEmpty: values['allow-empty'] === true }
    const steps = await readSteps(file, host, options)
    if (values['dry-run'] === true)
      return { ...resultOf(steps, 'changes'), exit: steps.length > 0 ? EXIT.problems : EXIT.ok }
    refuseDeletions(steps)
    const secrets = secretsIn(values, steps)
    try {
      const newKeys: NewKeys = new Map()
      for (const step of steps) await take(step, host, newKeys, secrets)
    } finally {
      secrets?.close()
    }
    return resultOf(steps, 'changed')
  },
}
/** Throws a UsageError for a mistake of the file. */
const readSteps = async (
  file: string,
  host: HostBase,
  options: Omit<Parameters<typeof planOf>[2], 'names'>,
): Promise<readonly Step[]> => {
  const { value, usageError } = await readSource(file)
  try {
    const declared = readDocument(value, host)
    const stored = await readStored(host, name => declared.has(name), options.prunes)
    return planOf(declared, stored, { ...options, names: knownNames(host) })
  } catch (error) {
    throw usageError(error)
  }
}
const knownNames = (host: HostBase): KnownNames => {
  const upstreams = Object.values(host.section<Readonly<Record<string, Json>>>('upstreams') ?? {})
  const zones = upstreams.flatMap(
    each => (each as { readonly zone?: string | string[] }).zone ?? [],
  )
  return {
    unknownModel(names) {
      const name = unknownModelIn(names, host)
      const suggestion = name === undefined ? undefined : nearest(name, Object.keys(modelsOf(host)))
      return name === undefined ? undefined : { name, ...(suggestion && { nearest: suggestion }) }
    },
    zones: upstreams.length > 0 ? [...new Set(zones)] : undefined,
    plans: [...plansIn(host).keys()],
  }
}
/** Throws a UsageError for accounts that cannot be deleted. */
const refuseDeletions = (steps: readonly Step[]): void => {
  const refused = steps.filter(({ isRefused }) => isRefused)
  if (refused.length === 0) return
  const list = refused.slice(0, 5).map(({ object, after }) => `${object} (${after})`)
  const rest = refused.length > list.length ? ` and ${refused.length - list.length} more` : ''
  throw new UsageError(
    `--prune cannot delete ${list.join(', ')}${rest}. Name them in the file, debit them, or delete each with tollgate accounts delete NAME --force. Nothing was changed`,
  )
}
const resultOf = (steps: readonly Step[], verb: string): CommandResult => ({
  rows: steps.map(({ object, before, after }) => ({ [verb]: object, from: before, to: after })),
  json: steps.map(({ operation, object, before, after }) => ({ operation, object, before, after })),
  ...(steps.length === 0 && { text: 'Nothing to change.' }),
})

/** Operations whose result has a secret. */
const SECRETS = new Map([
  ['keys create', 'key'],
  ['members invite', 'url'],
])
/** Throws a UsageError, before any change, if no option says where secrets are stored. */
const secretsIn = (
  values: Parameters<SingleCommand['run']>[0]['values'],
  steps: readonly Step[],
): Secrets | undefined => {
  const [path, command] = [textOf(values.secrets), textOf(values['secrets-command'])]
  if (path !== undefined && command !== undefined)
    throw new UsageError('--secrets and --secrets-command exclude each other; use one of them')
  const count = steps.filter(({ operation }) => SECRETS.has(operation)).length
  if (count === 0) return undefined
  if (path !== undefined) return fileForSecrets(path)
  if (command !== undefined) return commandForSecrets(command)
  throw new UsageError(
    `${count} new keys and members have secrets: add --secrets FILE or --secrets-command COMMAND to store them. Nothing was changed`,
  )
}

const operationOf = (name: string) => {
  const operation = OPERATIONS.find(each => each.name === name)
  if (!operation) throw new Error(`no operation ${name}`)
  return operation
}
/** The numbers of keys that steps have created, as `Step.newKey` names them. */
type NewKeys = Map<string, Json>
const take = async (
  { operation, args, object, newKey }: Step,
  host: HostBase,
  newKeys: NewKeys,
  secrets?: Secrets,
): Promise<void> => {
  const key = newKey === undefined ? {} : { key: newKeys.get(newKey) ?? null }
  const row = (await runWhole(operationOf(operation), { ...args, ...key }, host)) as {
    readonly [name: string]: Json
  }
  if (operation === 'keys create') newKeys.set(`${args.account}/${args.name}`, row.id ?? null)
  const member = SECRETS.get(operation)
  if (member === undefined || !secrets) return
  const { id, account, name, [member]: secret } = row
  try {
    await secrets.write({ account, name, id: id ?? null, [member]: secret ?? null })
  } catch (error) {
    const isKey = operation === 'keys create'
    if (isKey) await runWhole(operationOf('keys revoke'), { key: id ?? 0 }, host)
    const end = isKey ? 'it is revoked' : 'make another link with tollgate members link'
    throw fault('APPLY_SECRET', [object, (error as Error).message, end])
  }
}

export const exportAccounts: SingleCommand = {
  summary: 'Prints accounts, members, API keys and budgets as the file that `apply` reads.',
  example: 'tollgate export accounts > accounts.yaml',
  async run(_, host) {
    const stored = await readStored(host, () => true)
    for (const [name, { ambiguous }] of stored)
      if (ambiguous.length > 0)
        throw new UsageError(
          `The account ${name} has several keys named "${ambiguous[0]}": rename all but one with tollgate keys update ID --name NAME`,
        )
    const document = {
      accounts: Object.fromEntries(
        [...stored].map(([name, { planLimit, plan, ...account }]) => [
          name,
          entryOf({ ...account, plan: planLimit === undefined ? plan : null }),
        ]),
      ),
    }
    // As in `readSource`.
    const { default: yaml } = await import('yaml')
    return { text: yaml.stringify(document).trimEnd(), json: document }
  },
}
/** Removes members that have their default value. */
const entryOf = ({
  role,
  suspended,
  overdraft,
  limits,
  plan,
  members,
  keys,
  budgets,
}: DeclaredAccount): object => ({
  ...(role !== 'customer' && { role }),
  ...(suspended && { suspended }),
  ...(overdraft !== '0' && { overdraft }),
  ...(limits && { limits }),
  ...(plan && { plan }),
  ...budgetsEntry(budgets, 'account'),
  ...(members.size > 0 && {
    members: Object.fromEntries(
      [...members].map(([name, { role, tags }]) => {
        const own = { ...(tags !== null && { tags }), ...budgetsEntry(budgets, 'member', name) }
        return [name, Object.keys(own).length > 0 ? { role, ...own } : role]
      }),
    ),
  }),
  ...(keys.size > 0 && {
    keys: Object.fromEntries(
      [...keys].map(([name, settings]) => [
        name,
        {
          ...Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null)),
          ...budgetsEntry(budgets, 'key', name),
        },
      ]),
    ),
  }),
})
