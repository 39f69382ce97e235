/** Rows of tasks, batches, webhooks and mails: a JSON Schema of each, and its type. */
import {
  any,
  boolean,
  constant,
  described,
  envelopeOf,
  fields,
  integer,
  list,
  nullable,
  nullables,
  number,
  object,
  oneOf,
  type RowOf,
  type TypeOf,
  text,
  time,
} from '../shapes.ts'
import { MONEY } from './money.ts'

export const TASK_STATES = [
  'accepted',
  'submitting',
  'submitted',
  'running',
  'unknown',
  'succeeded',
  'failed',
] as const
export const TASK_COLUMNS = {
  id: text,
  account: integer,
  account_name: nullable(text),
  model: text,
  state: oneOf(...TASK_STATES),
  held: MONEY,
  created: time,
  upstream: text,
  upstream_id: text,
  error: text,
}
/** A task in lists of operators. */
export type TaskRow = RowOf<typeof TASK_COLUMNS>
/** A task as it is stored. */
export const TASK_VIEW = object(
  {
    id: text,
    account: integer,
    route: text,
    model: text,
    state: oneOf(...TASK_STATES),
    created: time,
  },
  {
    key: nullable(integer),
    request: text,
    path: text,
    body: any,
    target: any,
    upstreamId: text,
    attempts: integer,
    failures: integer,
    progress: nullable(number),
    error: any,
    results: any,
    copies: any,
    isCopying: boolean,
    changed: time,
    deadline: time,
    expires: time,
    late: boolean,
    isCall: boolean,
    started: nullable(number),
    callback: any,
    callbacks: any,
    held: nullable(text),
  },
)
export type TaskView = TypeOf<typeof TASK_VIEW>
/** An upstream that gets no more tasks, and how many tasks wait for it. */
export const PAUSE_COLUMNS = { upstream: text, since: time, waiting: integer }
export type PausedUpstream = RowOf<typeof PAUSE_COLUMNS>

export const BATCH_STATES = [
  'validating',
  'in_progress',
  'finalizing',
  'cancelling',
  'completed',
  'failed',
  'cancelled',
  'expired',
] as const
export const BATCH_COUNTS = object({ total: integer, completed: integer, failed: integer })
export type BatchCounts = TypeOf<typeof BATCH_COUNTS>
export const BATCH_COLUMNS = {
  id: text,
  account: integer,
  account_name: text,
  endpoint: text,
  state: oneOf(...BATCH_STATES),
  total: integer,
  completed: integer,
  failed: integer,
  created: time,
  expires: time,
  error: text,
}
/** A batch in lists of operators. */
export type BatchRow = RowOf<typeof BATCH_COLUMNS>
export const EVENT_COLUMNS = {
  id: text,
  account: integer,
  account_name: nullable(text),
  receiver: described('The host of its URL.', text),
  state: oneOf('pending', 'delivered', 'failed'),
  attempts: integer,
  created: nullable(time),
  last: nullable(time),
  next: nullable(time),
  outcome: nullable(text),
  status: nullable(integer),
}
/** An event of a webhook in lists of operators. */
export type DeliveryRow = RowOf<typeof EVENT_COLUMNS>
export const MAIL_COLUMNS = {
  id: text,
  account: text,
  address: text,
  kind: described('`code` confirms an address; `low`: a low balance.', oneOf('code', 'low')),
  state: oneOf('pending', 'delivered', 'failed'),
  attempts: integer,
  created: time,
  next: nullable(time),
  message: described('The result of the last attempt.', text),
}
/** A mail to an account in lists of operators. */
export type MailRow = RowOf<typeof MAIL_COLUMNS>

/** An event of a webhook of the calling account. */
export const OWN_DELIVERY_COLUMNS = {
  id: text,
  state: text,
  attempts: integer,
  created: time,
  next: nullable(time),
  status: nullable(integer),
  message: text,
}
export const OWN_DELIVERY = object(OWN_DELIVERY_COLUMNS)
export type OwnDelivery = TypeOf<typeof OWN_DELIVERY>
export const TEST_DELIVERY = envelopeOf(OWN_DELIVERY)
export type TestDelivery = TypeOf<typeof TEST_DELIVERY>
/** Where an account gets notices of its balance. */
export const NOTIFICATIONS = object({
  url: nullable(text),
  threshold: nullable(described('Units of the currency.', text)),
  secret: nullable(text),
  disabled: nullable(time),
  deliveries: list(OWN_DELIVERY),
  can_mail: described('Whether this gateway sends mails.', boolean),
  mail: nullable(text),
  mail_confirmed: described('Whether mails about the balance go to the address.', boolean),
  mails: list(OWN_DELIVERY),
})
export type NotificationSettings = TypeOf<typeof NOTIFICATIONS>

// ---------------------------------------------------------------- as customers see them

/** A task of the calling account. */
export const OWN_TASK = object({
  id: text,
  request_id: text,
  route: text,
  model: text,
  state: text,
  progress: nullable(number),
  error: nullable(object({ code: text, message: text })),
  results: list(fields),
  request: any,
  created: time,
  changed: time,
  expires: nullable(time),
})
export type OwnTask = TypeOf<typeof OWN_TASK>
/** A batch as OpenAI's clients see it: times are seconds since 1970. */
export const BATCH = object({
  id: text,
  object: constant('batch'),
  endpoint: text,
  errors: nullable(object({ object: constant('list'), data: list(fields) })),
  input_file_id: text,
  completion_window: text,
  status: oneOf(...BATCH_STATES),
  created_at: integer,
  request_counts: BATCH_COUNTS,
  metadata: nullable(fields),
  ...nullables('output_file_id', 'error_file_id')(text),
  ...nullables(
    'in_progress_at',
    'expires_at',
    'finalizing_at',
    'completed_at',
    'failed_at',
    'expired_at',
    'cancelling_at',
    'cancelled_at',
  )(integer),
})
export type BatchView = TypeOf<typeof BATCH>
/** A file as OpenAI's clients see it: times are seconds since 1970. */
export const FILE = object(
  {
    id: text,
    object: constant('file'),
    bytes: integer,
    created_at: integer,
    filename: text,
    purpose: text,
    status: text,
  },
  { expires_at: integer, status_details: nullable(text) },
)
export type FileView = TypeOf<typeof FILE>
