/** The operations on API keys and system tokens. */
import { flag, object, text } from '../../../engine/config/shape.ts'
import { findAccount } from '../../credentials/find.ts'
import { EARLIER, KEY_COLUMNS } from '../../rows/accounts.ts'
import { oneOf, object as row, type TypeOf } from '../../shapes.ts'
import type { KeyView } from '../../views.ts'
import { ACCOUNT, nullable } from '../arguments.ts'
import { changeKey, createKey, readmitKey, revokeKey, rotateKey } from '../key-changes.ts'
import { keyRow, shortRow } from '../key-rows.ts'
import {
  CREATE_OPTIONS,
  changesIn,
  changesWith,
  KEY_NUMBER,
  KIND,
  kindOf,
  OVERLAP,
  overlapIn,
  SCOPE,
  SYSTEM,
  scopeOption,
  settingsIn,
  settingsWith,
  UPDATE_OPTIONS,
} from '../key-settings.ts'
import { findKey, viewFor } from '../keys.ts'
import { type Context, type Operation, operation } from '../operation.ts'
import { MEMBERS } from '../own-keys.ts'
import { ownForms, readOne } from './key-forms.ts'
import { keysList, keysShow } from './key-reads.ts'
import { chosenMember, MEMBER, memberOption } from './members.ts'

type Kind = 'key' | 'system-token'
const viewOf = async (context: Context, kind: Kind, id: number): Promise<KeyView> =>
  viewFor(context, kind, await findKey(context, kind, id))

type Created = TypeOf<typeof CREATED>
/** With the whole secret: for operators the member `key` of both kinds. */
const withSecret = ({ own }: Context, kind: Kind, view: KeyView, secret: string): Created =>
  own === undefined ? { ...view, kind, key: secret } : { ...view, [MEMBERS[kind]]: secret }
/** As commands print a credential with its secret. */
const secretRow = ({ id, account, kind = 'key', key }: Created) => {
  return { id, account, [MEMBERS[kind]]: key }
}
/** Absent for customers, and where an operator chose the secret. */
const CREATED_KIND = { kind: oneOf('key', 'system-token') }
const CREATED = row(KEY_COLUMNS, CREATED_KIND)

const create = operation({
  name: 'keys create',
  summary: 'Creates an API key of an account and shows it once.',
  scope: 'both',
  arguments: settingsWith({
    account: ACCOUNT,
    kind: KIND,
    member: nullable(MEMBER),
    scope: SCOPE,
    secret: text('A secret of your own choice, which is never shown; by default it is made.', {
      minLength: 1,
      maxLength: 512,
    }),
  }),
  showsSecret: true,
  result: CREATED,
  own: ownForms(
    noun => `create-${noun}`,
    'Creates an API key: the only response that shows it in full.',
    { access: 'use', without: ['secret'], status: 201 },
  ),
  command: {
    arguments: 'ACCOUNT',
    example: 'tollgate keys create ann --name laptop --expires 90d',
    options: CREATE_OPTIONS,
    read: async ({ positionals: [account = ''], values, host }) => ({
      account,
      kind: kindOf(values),
      ...memberOption(values),
      ...scopeOption(values),
      ...settingsIn(values, await host.database.now()),
    }),
    print(data) {
      const { id, account, ...secret } = secretRow(data)
      const cells = { id, account, name: data.name, ...secret }
      const { kind, expires } = data
      return {
        rows: [{ ...cells, expires: expires ?? 'never' }],
        json: { ...cells, kind, expires },
        after: 'Save it now: it is not shown again. The database stores only its digest.\n',
      }
    },
  },
  async run(context, { account: nameOrId, kind, member: named, ...rest }) {
    const { secret: ownSecret, scope, ...settings } = rest
    const account = context.own ?? (await findAccount(context.store, nameOrId)).id
    const member = await chosenMember(context, account, kind, named)
    const key = { account, kind, member, settings, scope, secret: ownSecret }
    const { id, secret } = await createKey(context, key)
    const view = await viewOf(context, kind, id)
    return { data: ownSecret === undefined ? withSecret(context, kind, view, secret.text) : view }
  },
})

const update = operation({
  name: 'keys update',
  summary: 'Changes name, expiry, models, limits or quota of an API key, at once.',
  scope: 'both',
  earlier: 'POST keys/limits',
  arguments: changesWith({ key: KEY_NUMBER, kind: KIND, member: nullable(MEMBER) }),
  result: row(KEY_COLUMNS),
  own: ownForms(noun => `update-${noun}`, 'Changes an API key.', { access: 'use', inPath: 'key' }),
  command: {
    arguments: 'ID',
    example: 'tollgate keys update 7 --models gp-4.1,gp-4o --requests 60/min',
    options: UPDATE_OPTIONS,
    async read(input) {
      const { database } = input.host
      const [one, now] = [readOne(input), await database.now()]
      const member = memberOption(input.values)
      return { ...one, ...member, ...changesIn(input.values, now, 'member' in member) }
    },
    print: key => ({ rows: [keyRow(key)], json: key }),
  },
  async run(context, { key, kind, member: named, ...settings }) {
    const { row } = await findKey(context, kind, key)
    const member = await chosenMember(context, Number(row.account), kind, named)
    await changeKey(context, kind, key, { ...settings, member })
    return { data: await viewOf(context, kind, key) }
  },
})

const ROTATED = row({ ...KEY_COLUMNS, ...CREATED_KIND, earlier: EARLIER })
const ROTATE = 'Gives an API key a new secret, shown once; its number, limits and use stay.'
const rotate = operation({
  name: 'keys rotate',
  summary: ROTATE,
  scope: 'both',
  arguments: object(undefined, { key: KEY_NUMBER, kind: KIND, overlap: OVERLAP }),
  showsSecret: true,
  result: ROTATED,
  own: ownForms(noun => `rotate-${noun}`, ROTATE, { access: 'use', inPath: 'key' }),
  command: {
    arguments: 'ID',
    example: 'tollgate keys rotate 7 --overlap 24h',
    options: {
      overlap: {
        type: 'string',
        value: 'TIME',
        summary: 'how long the old secret is valid: 24h; without it, all earlier ones end',
      },
      system: SYSTEM,
    },
    read(input) {
      const overlap = overlapIn(input.values)
      return { ...readOne(input), ...(overlap !== undefined && { overlap }) }
    },
    print({ earlier, ...data }) {
      const cells = secretRow(data)
      const end = earlier.expires === null ? 'has ended' : `is valid until ${earlier.expires}`
      return {
        rows: [cells],
        json: { ...cells, earlier },
        after: `Save it now: it is not shown again. The old secret ${earlier.key} ${end}.\n`,
      }
    },
  },
  async run(context, { key, kind, overlap }) {
    const { secret, earlier } = await rotateKey(context, kind, key, overlap)
    const view = await viewOf(context, kind, key)
    const rotated = { ...withSecret(context, kind, view, secret), earlier }
    return { data: rotated as TypeOf<typeof ROTATED> }
  },
})

const revoke = operation({
  name: 'keys revoke',
  summary: 'Revokes an API key by its number.',
  scope: 'both',
  arguments: object(undefined, {
    key: KEY_NUMBER,
    kind: KIND,
    readmit: flag(
      'In place of that: the identity of a provider whose key was revoked is admitted again; its next token makes a new key.',
    ),
  }),
  result: row(KEY_COLUMNS),
  own: ownForms(noun => `revoke-${noun}`, 'Revokes an API key.', {
    access: 'use',
    inPath: 'key',
    without: ['readmit'],
  }),
  command: {
    arguments: 'ID',
    example: 'tollgate keys revoke 7',
    options: {
      system: SYSTEM,
      readmit: {
        type: 'boolean',
        summary: 'in place of that: admits the identity of a provider whose key was revoked again',
      },
    },
    read: input => ({ ...readOne(input), readmit: input.values.readmit === true }),
    print: key => ({ rows: [shortRow(key)], json: key }),
  },
  async run(context, { key, kind, readmit = false }) {
    if (readmit) await readmitKey(context, key)
    else await revokeKey(context, kind, key)
    return { data: await viewOf(context, kind, key) }
  },
})

/** In the order of the help. */
export const keyOperations: readonly Operation[] = [
  create,
  revoke,
  keysList,
  keysShow,
  update,
  rotate,
]
