/** The endpoint of operators for failed calls of all accounts. */
import type { HostBase } from '../../../engine/plugin.ts'
import { findAccount } from '../../credentials/find.ts'
import { type FailedCallMark, failedCalls } from '../../operator/failed-calls.ts'
import { queryFault } from '../../operator/faults.ts'
import { FAILED_CALL } from '../../rows/calls.ts'
import { list as listOf } from '../../shapes.ts'
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
