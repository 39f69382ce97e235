/** The operations on consents to the journal. The plugin `journal` does the work. */
import { flag, object, required } from '../../../engine/config/shape.ts'
import { findAccount } from '../../credentials/find.ts'
import { CONSENT_COLUMNS } from '../../rows/operations.ts'
import { list as listOf, object as row } from '../../shapes.ts'
import type { ConsentRow } from '../../views.ts'
import { ACCOUNT } from '../arguments.ts'
import { partOf } from '../contributions.ts'
import { type Operation, operation } from '../operation.ts'
import { singleRow } from '../rows.ts'
import { cacheOperations } from './cache.ts'
import { mirrorOperations } from './mirror.ts'

const cellsOf = (row: ConsentRow) => ({ ...row, consents: row.consents ? 'yes' : 'no' })

const list = operation({
  name: 'journal list',
  summary: 'Lists the accounts that have consented that the journal has their calls.',
  scope: 'operator',
  reads: true,
  arguments: object(undefined, {}),
  result: listOf(row(CONSENT_COLUMNS)),
  command: {
    example: 'tollgate journal list',
    print: rows => ({ rows: rows.map(cellsOf), json: rows }),
  },
  run: async ({ host }) => ({ data: await partOf(host, 'journal').list(host) }),
})

const consent = operation({
  name: 'journal consent',
  summary: 'Notes that an account consents that the journal has its calls, or no longer does.',
  scope: 'both',
  arguments: object(undefined, {
    account: ACCOUNT,
    consents: required(flag('Whether it consents. Without consent no call is written.')),
  }),
  result: row(CONSENT_COLUMNS),
  own: [{ view: 'journal-consent' }],
  command: {
    arguments: 'ACCOUNT',
    example: 'tollgate journal consent acme',
    options: { withdraw: { type: 'boolean', summary: 'it no longer consents' } },
    read: ({ positionals: [account = ''], values }) => ({
      account,
      consents: values.withdraw !== true,
    }),
    print: data => singleRow(cellsOf(data)),
  },
  async run(context, { account: nameOrId, consents }) {
    const part = partOf(context.host, 'journal')
    const account = await findAccount(context.store, String(context.own ?? nameOrId))
    return { data: await part.consent(context, account, consents) }
  },
})

/** In the order of the help. */
export const journalOperations: readonly Operation[] = [list, consent]
/** Those on calls beside their charges: texts that the gateway stores, and copies. */
export const storedCallOperations: readonly Operation[] = [
  ...journalOperations,
  ...cacheOperations,
  ...mirrorOperations,
]
