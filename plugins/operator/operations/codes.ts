/** Operations on codes that become credit, or give a plan. */
import { countOf, textOf } from '../../../engine/cli/kit.ts'
import { integer, object, required, text } from '../../../engine/config/shape.ts'
import { isCode } from '../../../engine/kit.ts'
import { printMoney } from '../../billing/money.ts'
import { expiryOf, noteOf } from '../../credentials/input.ts'
import {
  addCode,
  digestOfCode,
  idOfCode,
  makeCode,
  revokeCode,
} from '../../ledger/payments/codes.ts'
import { CODE_COLUMNS, NEW_CODE, REDEEMED } from '../../rows/money.ts'
import { list as listOf, object as row } from '../../shapes.ts'
import type { NewCode, Redeemed } from '../../views.ts'
import { accountRowById } from '../accounts.ts'
import { ANY_PLAN, anyAmount, CURSOR, LIMIT, NOTE, noteBy } from '../arguments.ts'
import { fault } from '../faults.ts'
import { EXPIRES } from '../key-settings.ts'
import { type Operation, operation } from '../operation.ts'
import { isoTime, singleRow } from '../rows.ts'
import { codeRow, codesPage, findCode, redeem } from './code-rows.ts'
import { planNamed } from './plans/view.ts'

const MOST = 1_000
const LASTS = text('How long the plan is given, such as 30d; left out: without an end.', {
  pattern: '^[1-9][0-9]{0,4}[hd]$',
})
const create = operation({
  name: 'codes create',
  summary: 'Makes codes that customers redeem for credit or a plan; they are shown once.',
  scope: 'operator',
  arguments: object(
    undefined,
    {
      amount: anyAmount('Units of the currency, above 0, of each code; 0 by default with a plan.'),
      plan: ANY_PLAN,
      lasts: LASTS,
      count: integer('How many; 1 by default.', { minimum: 1, maximum: MOST }),
      expires: EXPIRES,
      note: NOTE,
    },
    { dependentRequired: { lasts: ['plan'] } },
  ),
  showsSecret: true,
  result: listOf(NEW_CODE),
  command: {
    arguments: '[AMOUNT]',
    example: 'tollgate codes create 10 --count 20 --expires 90d',
    options: {
      plan: { type: 'string', value: 'PLAN', summary: 'the plan that each code gives' },
      lasts: {
        type: 'string',
        value: 'TIME',
        summary: 'how long it gives the plan: 30d; without an end by default',
      },
      count: { type: 'string', value: 'COUNT', summary: 'how many; 1 by default' },
      expires: { type: 'string', value: 'TIME', summary: 'expiry: 30d, a date, or never' },
      note: { type: 'string', value: 'TEXT', summary: 'reason, for the ledger' },
    },
    async read({ positionals: [units], values, host }) {
      const [plan, lasts] = [textOf(values.plan), textOf(values.lasts)]
      const count = countOf(textOf(values.count), 'count', MOST)
      const expires = expiryOf(textOf(values.expires), await host.database.now())
      return {
        note: noteOf(values.note),
        ...(units !== undefined && { amount: units }),
        ...(plan !== undefined && { plan }),
        ...(lasts !== undefined && { lasts }),
        ...(count !== undefined && { count }),
        ...(expires !== undefined && { expires: isoTime(expires) }),
      }
    },
    print: codes => ({
      rows: codes.map(({ code, amount: units, plan, expires }) => ({
        code,
        amount: units,
        ...(plan !== null && { plan }),
        expires: expires ?? 'never',
      })),
      json: codes,
    }),
  },
  async run(context, { amount: value, plan, lasts, count = 1, expires, note }) {
    if (value === undefined && plan === undefined) throw fault('CODE_WORTH')
    const nanos = value ?? 0n
    if (value !== undefined && nanos <= 0n) throw fault('ADMIN_AMOUNT')
    const { store, now } = context
    if (plan !== undefined) planNamed(context.host, plan)
    if (expires != null && expires <= now) throw fault('EXPIRES_PAST')
    const facts = { amount: nanos, plan, lasts, note: noteBy(context, note), created: now }
    const codes = Array.from({ length: count }, makeCode).map(code => {
      const digest = digestOfCode(code) ?? ''
      return { code, digest, id: idOfCode(digest) }
    })
    await store.change(
      codes.map(({ digest }) => addCode(digest, { ...facts, expires: expires ?? undefined })),
      {
        object: `codes ${codes.map(({ id }) => id).join(' ')}`,
        before: null,
        after: {
          amount: printMoney(nanos),
          count,
          expires: expires == null ? null : isoTime(expires),
          ...(plan !== undefined && { plan, lasts: lasts ?? null }),
        },
      },
    )
    const newCodes = codes.map(({ code, id }): NewCode => {
      const unused = { account: undefined, redeemed: undefined, revoked: undefined }
      return { ...codeRow({ ...facts, ...unused, id, expires: expires ?? undefined }, now), code }
    })
    return { data: newCodes }
  },
})

const list = operation({
  name: 'codes list',
  summary: 'Lists codes: what they are worth, and who redeemed them.',
  scope: 'operator',
  reads: true,
  arguments: object(undefined, { limit: LIMIT, cursor: CURSOR }),
  result: listOf(row(CODE_COLUMNS)),
  command: {
    example: 'tollgate codes list',
  },
  run: ({ store, now }, page) => codesPage(store, now, page),
})

const CODE_ID = required(text('The id of a code, of `codes list`.', { pattern: '^[0-9a-f]{12}$' }))
const revoke = operation({
  name: 'codes revoke',
  summary: 'Makes a code worthless that nobody has redeemed.',
  scope: 'operator',
  arguments: object(undefined, { code: CODE_ID }),
  result: row(CODE_COLUMNS),
  command: {
    arguments: 'CODE',
    example: 'tollgate codes revoke 0123456789ab',
    print: ({ id, state }) => singleRow({ id, state }),
  },
  async run({ store, now }, { code }) {
    const before = await findCode(store, code)
    const change = {
      object: `code ${code}`,
      before: { state: codeRow(before, now).state },
      after: { state: 'revoked' },
    }
    await store.change([revokeCode(code, now)], change).catch(error => {
      throw isCode(error, 'CODE_SPENT') ? fault('CODE_SPENT') : error
    })
    return { data: codeRow(await findCode(store, code), now) }
  },
})

const redeemOwn = operation({
  name: 'codes redeem',
  summary: 'Redeems a code for credit or a plan.',
  scope: 'own',
  arguments: object(undefined, {
    code: required(text('The code, in any case, with or without dashes.', { maxLength: 64 })),
  }),
  result: REDEEMED,
  own: [{ view: 'redeem-code' }],
  async run(context, { code }) {
    const { amount: nanos, plan = null, repeated } = await redeem(context, code)
    const { balance } = await accountRowById(context.store, context.own ?? 0)
    return { data: { credited: printMoney(nanos), plan, repeated, balance } satisfies Redeemed }
  },
})

export const codeOperations: readonly Operation[] = [create, list, revoke, redeemOwn]
