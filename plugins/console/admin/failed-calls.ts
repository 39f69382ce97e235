/** The endpoint of operators for failed calls of all accounts. */
import type { HostBase } from '../../../engine/plugin.ts'
import { findAccount } from '../../credentials/find.ts'
import { MONEY } from '../../operator/columns.ts'
import { type FailedCallMark, failedCalls } from '../../operator/failed-calls.ts'
import { queryFault } from '../../operator/faults.ts'
import {
  described,
  integer,
  list as listOf,
  nullable,
  number,
  object,
  open,
  text,
  time,
} from '../../shapes.ts'
import {
  type AdminCall,
  type AdminEndpoints,
  type AdminResult,
  asJson,
  numberIn,
  textIn,
} from './endpoint.ts'

const PAGE = 100

const list = async ({ query }: AdminCall, host: HostBase): Promise<AdminResult> => {
  const account = textIn(query, 'account')
  const { rows, next } = await failedCalls(host.database, {
    from: 0,
    to: Number.MAX_SAFE_INTEGER,
    account: account === undefined ? null : (await findAccount(host.database, account)).id,
    key: numberIn(query, 'key'),
    model: textIn(query, 'model') ?? null,
    code: textIn(query, 'code') ?? null,
    limit: PAGE,
    after: markIn(query),
  })
  return { data: asJson(rows), next: next && `${next.at}:${next.request}` }
}
const markIn = (query: URLSearchParams): FailedCallMark | undefined => {
  const cursor = textIn(query, 'cursor')
  if (cursor === undefined) return undefined
  const [, at, request] = /^(\d{1,15}):([\x20-\x7e]{1,140})$/.exec(cursor) ?? []
  if (at === undefined || request === undefined)
    throw queryFault('cursor', '`next` of the page before')
  return { at: Number(at), request }
}

const ATTEMPT = open(
  object(
    {},
    {
      upstream: text,
      target: nullable(text),
      key: described("The first digits of the SHA-256 of the upstream's key.", text),
      status: integer,
      cause: text,
      ms: number,
      start: number,
      id: text,
      retry_after: text,
      message: described('What the upstream said.', text),
    },
  ),
)
export const FAILED_CALL = object({
  request: text,
  at: time,
  account: nullable(integer),
  account_name: nullable(text),
  key: nullable(integer),
  route: text,
  model: text,
  status: integer,
  code: text,
  message: described('The error that the client got.', text),
  ms: integer,
  cost: MONEY,
  omitted: described('Failed calls of the account before it that are not kept.', integer),
  attempts: listOf(ATTEMPT),
})

export const failedCallEndpoints: AdminEndpoints = {
  'GET failed-calls': {
    summary: 'Lists the failed calls of all accounts, latest first, a hundred a page.',
    query: {
      account: 'name or number of an account',
      key: 'number of an API key',
      model: 'a model as the client named it',
      code: 'the code of its error',
      cursor: '`next` of the page before',
    },
    data: listOf(FAILED_CALL),
    run: list,
  },
}
