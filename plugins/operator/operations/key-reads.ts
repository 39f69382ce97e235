/** Operations that read API keys and system tokens. */
import { object } from '../../../engine/config/shape.ts'
import { findAccount } from '../../credentials/find.ts'
import { KEY_COLUMNS } from '../../rows/accounts.ts'
import { list as listOf, object as row } from '../../shapes.ts'
import { ANY_ACCOUNT, CURSOR, LIMIT } from '../arguments.ts'
import { keyRow } from '../key-rows.ts'
import { KIND, kindOf, SYSTEM } from '../key-settings.ts'
import { findKey, viewFor } from '../keys.ts'
import { operation } from '../operation.ts'
import { ONE, ownForms, pageFor, readOne } from './key-forms.ts'

export const keysList = operation({
  name: 'keys list',
  summary: 'Lists the API keys of an account, or of all, with their limits and use.',
  scope: 'both',
  reads: true,
  arguments: object(undefined, { account: ANY_ACCOUNT, kind: KIND, limit: LIMIT, cursor: CURSOR }),
  result: listOf(row(KEY_COLUMNS)),
  own: ownForms(noun => `list-${noun}s`, 'Lists the API keys of the account.', {
    result: listOf,
  }),
  command: {
    arguments: '[ACCOUNT]',
    example: 'tollgate keys list ann',
    options: { system: SYSTEM },
    read: ({ positionals: [account], values }) => ({
      kind: kindOf(values),
      limit: 1_000,
      ...(account !== undefined && { account }),
    }),
    print: keys => ({ rows: keys.map(keyRow), json: keys }),
  },
  async run(context, { account: nameOrId, kind, ...page }) {
    const { store, own } = context
    const account =
      own ?? (nameOrId === undefined ? undefined : (await findAccount(store, nameOrId)).id)
    return pageFor(context, { kind, account }, page)
  },
})

const SHOW = 'Shows what an API key may do, what it used and how long it is valid.'
export const keysShow = operation({
  name: 'keys show',
  summary: SHOW,
  scope: 'both',
  reads: true,
  arguments: ONE,
  result: row(KEY_COLUMNS),
  own: ownForms(noun => `show-${noun}`, SHOW, { inPath: 'key' }),
  command: {
    arguments: 'ID',
    example: 'tollgate keys show 7',
    options: { system: SYSTEM },
    read: readOne,
    print: data => ({ rows: [keyRow(data)], json: data }),
  },
  run: async (context, { key, kind }) => ({
    data: viewFor(context, kind, await findKey(context, kind, key)),
  }),
})
