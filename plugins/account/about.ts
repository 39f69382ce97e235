/** Descriptions of the account endpoints for clients. */
import type { RouteDescription } from '../../engine/plugin.ts'
import { PROFILE } from '../rows/accounts.ts'
import { PRICED_MODEL, routePrices } from '../rows/models.ts'
import { USAGE_CELL } from '../rows/money.ts'
import { RECEIPT, USAGE } from '../rows/usage.ts'
import {
  any,
  between,
  boolean,
  constant,
  described,
  envelopeOf,
  integer,
  json,
  list,
  map,
  nullable,
  number,
  object,
  oneOf,
  open,
  query,
  text,
  time,
} from '../shapes.ts'
import { operationDescriptions } from './own-operations.ts'

const PERIOD = [
  query('from', 'The begin, as a date or a time; 30 days ago by default'),
  query('to', 'The end, exclusive; now by default'),
]
const PAGING = [
  query('limit', 'The number of rows of a page, from 1 to 1,000', between(1, 1_000)),
  query(
    'cursor',
    '`next` of the page before; with filters a page of calls may have fewer rows, or none, before the last one',
  ),
]
const next = { next: nullable(text) }

const balance = object(
  { key: text, remaining_quota: number, used_quota: number, total_quota: number },
  { unlimited_quota: boolean },
)
const tokenUsage = object({
  code: boolean,
  message: text,
  data: object({
    object: constant('token_usage'),
    name: text,
    total_granted: number,
    total_used: number,
    total_available: number,
    unlimited_quota: boolean,
    model_limits: map(boolean),
    model_limits_enabled: boolean,
    expires_at: integer,
  }),
})
const pricing = envelopeOf(
  list(PRICED_MODEL),
  {
    currency: text,
    batch_factor: described('The part of the price that a request of a batch costs', number),
    vendors: list(any),
    group_ratio: map(number),
    usable_group: map(text),
    supported_endpoint: map(object({ method: text, path: text })),
    auto_groups: list(text),
  },
  { route_prices: routePrices('Prices of routes that serve none of the models') },
)
const bounds = { from: time, to: time }
const KEY_KIND = 'API key'

const newApiPage = (item: ReturnType<typeof object>) =>
  json(envelopeOf(object({ page: integer, page_size: integer, total: integer, items: list(item) })))
const newApiToken = object({
  id: integer,
  user_id: integer,
  key: described('Masked; the whole key where it is created', text),
  status: described('1 active, 2 revoked, 3 expired', integer),
  name: text,
  created_time: integer,
  accessed_time: integer,
  expired_time: described('Unix seconds; -1: never', integer),
  remain_quota: integer,
  used_quota: integer,
  unlimited_quota: boolean,
  model_limits_enabled: boolean,
  model_limits: text,
  allow_ips: text,
  group: text,
})
const newApiLog = object({
  id: integer,
  created_at: integer,
  type: described('2 a call, 5 a failed call', integer),
  token_name: text,
  model_name: text,
  quota: integer,
  prompt_tokens: integer,
  completion_tokens: integer,
  use_time: integer,
  is_stream: boolean,
  token_id: integer,
  request_id: text,
})
const NEW_API_PAGE = [
  query('p', 'The page, from 1'),
  query('page_size', 'Rows of a page, at most 100; 10 by default'),
]
const NEW_API_BODY = open(
  object(
    {},
    {
      id: integer,
      name: text,
      expired_time: integer,
      remain_quota: integer,
      unlimited_quota: boolean,
      model_limits_enabled: boolean,
      model_limits: text,
    },
  ),
)
const NEW_API: Readonly<Record<string, RouteDescription>> = {
  'log-self': {
    summary: 'Lists the calls of the account, in the shape of new-api',
    responses: newApiPage(newApiLog),
    parameters: [
      ...NEW_API_PAGE,
      query('type', '2: calls, 5: failed calls'),
      query('start_timestamp', 'Unix seconds'),
      query('end_timestamp', 'Unix seconds'),
      query('token_name', 'Only calls of the key with this name'),
      query('model_name', 'Only calls of this model'),
    ],
  },
  'log-token': {
    summary: 'Lists the last calls of the API key, in the shape of new-api',
    responses: json(envelopeOf(list(newApiLog))),
  },
  'new-api-tokens': {
    summary: 'Lists the API keys of the account, in the shape of new-api',
    responses: newApiPage(newApiToken),
    parameters: NEW_API_PAGE,
  },
  'new-api-token': {
    summary: 'Shows an API key, in the shape of new-api',
    responses: json(envelopeOf(newApiToken)),
  },
  'new-api-create': {
    summary: 'Creates an API key, in the shape of new-api: the only response that shows it in full',
    body: json(NEW_API_BODY),
    responses: json(envelopeOf(newApiToken)),
  },
  'new-api-update': {
    summary: 'Changes an API key, in the shape of new-api',
    body: json(NEW_API_BODY),
    responses: json(envelopeOf(newApiToken)),
  },
  'new-api-delete': {
    summary: 'Revokes an API key, in the shape of new-api',
    responses: json(envelopeOf(any)),
  },
}

/** Programs written for new-api send parameters of their own to these views. */
const NEW_API_COMPATIBLE: Readonly<Record<string, RouteDescription>> = {
  info: {
    summary: 'Shows the account and its balance',
    responses: json(envelopeOf(PROFILE)),
  },
  site: {
    summary: 'Shows the units of quotas, in the shape of new-api',
    responses: json(
      envelopeOf(
        object({
          system_name: text,
          quota_per_unit: described('Quota units of a dollar', number),
          quota_display_type: oneOf('USD', 'CNY', 'CUSTOM'),
          display_in_currency: boolean,
          usd_exchange_rate: number,
          price: number,
          custom_currency_symbol: text,
          custom_currency_exchange_rate: number,
        }),
      ),
    ),
  },
  models: {
    summary: 'Lists the names of the models, in the shape of new-api',
    responses: json(envelopeOf(list(text))),
  },
  ...NEW_API,
  balance: {
    summary: 'Shows what an API key may spend',
    responses: json(envelopeOf(balance)),
    credentials: [{ kind: KEY_KIND, in: 'query', name: 'key' }],
  },
  'token-usage': {
    summary: 'Shows what an API key may spend, in the shape of new-api',
    responses: json(tokenUsage),
    credentials: [{ kind: KEY_KIND, in: 'header', name: 'authorization' }],
  },
  pricing: { summary: 'Lists the models with their prices', responses: json(pricing) },
  'price-sheet': {
    summary: 'Lists the prices as CSV: one row for each price of each model',
    responses: { 'text/csv': described('RFC 4180, with a header row', text) },
  },
  subscription: {
    summary: 'Shows the total ever granted, in dollars',
    responses: json(
      object({
        object: constant('billing_subscription'),
        has_payment_method: boolean,
        soft_limit_usd: number,
        hard_limit_usd: number,
        system_hard_limit_usd: number,
        access_until: integer,
      }),
    ),
  },
  credits: {
    summary: 'Shows the remaining credits of the caller, in whole ones',
    parameters: [query('show_detail', 'Whether packages are listed', oneOf('true', 'false'))],
    responses: json(
      object({
        remains: list(object({ type: text, credit_remain: integer })),
        packages: list(
          object({
            id: text,
            name: text,
            type: text,
            credit_amount: integer,
            credit_remain: integer,
          }),
        ),
      }),
    ),
  },
  spent: {
    summary: 'Shows the total spent, in cents of dollars',
    responses: json(object({ object: constant('list'), total_usage: number })),
  },
}

export const ABOUT: Readonly<Record<string, RouteDescription>> = {
  ...NEW_API_COMPATIBLE,
  usage: {
    summary: 'Lists calls and what they cost',
    responses: {
      ...json(envelopeOf(list(USAGE), { ...bounds, ...next })),
      'text/csv': described('With format=csv: RFC 4180, with a header row', text),
    },
    parameters: [
      query(
        'by',
        'What a row sums up; call by default',
        oneOf('call', 'day', 'model', 'key', 'member', 'tag'),
      ),
      query('model', 'Only calls of this model, with by=call'),
      query('key', 'Only calls of the key with this number, with by=call', integer),
      query('state', 'Only these, with by=call', oneOf('open', 'settled', 'released')),
      query(
        'tag',
        'Only calls with this tag, such as project=alpha, with by=call and by=model',
        text,
      ),
      query('rule', 'Only calls that this rule of their model sent, with by=call', text),
      query('member', 'Only calls of the member with this number', integer),
      query('status', 'Failed calls in place of charges, with by=call', oneOf('failed')),
      query('code', 'Only failed calls with this code, with status=failed'),
      query('sort', 'The order: time, cost or model with by=call, otherwise name, calls or cost'),
      query('order', 'asc, or desc', oneOf('asc', 'desc')),
      query('format', 'csv: all rows as a table', oneOf('json', 'csv')),
      ...PERIOD,
      ...PAGING,
    ],
  },
  'usage-events': {
    summary: 'Reports changes of the calls of the account as they happen',
    responses: { 'text/event-stream': described('Events with the changed rows', text) },
  },
  overview: {
    summary: 'Sums up calls, cost and tokens by day and model',
    responses: json(envelopeOf(list(object(USAGE_CELL)), bounds)),
    parameters: PERIOD,
  },
  receipt: {
    summary: 'Shows the receipt of a call or a task',
    responses: json(envelopeOf(RECEIPT)),
  },
  ...operationDescriptions,
}
/** Whether a view refuses parameters that its description does not have. */
export const isStrict = (view: string): boolean => !Object.hasOwn(NEW_API_COMPATIBLE, view)
