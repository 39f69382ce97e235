/** Rows of requests, for operators: lines of the request log, and the story of one request. A JSON
 *  Schema of each, and its type. */
import {
  any,
  described,
  integer,
  list,
  nullable,
  number,
  object,
  oneOf,
  open,
  type TypeOf,
  text,
} from '../shapes.ts'
import { ATTEMPT, CHARGE, FAILED_CALL } from './calls.ts'
import { MONEY } from './money.ts'
import { TASK_VIEW } from './work.ts'

const SKIP = object(
  {
    upstream: text,
    why: described(
      'Such as `ejected`, `paused`, `probing`, `resting`, `limited`, `cold` or `format`.',
      text,
    ),
  },
  { target: nullable(text), address: text },
)
/** A target that a call was not sent to. */
export type Skip = TypeOf<typeof SKIP>
/** A line of the request log with the fields that the shipped plugins add. */
export const REQUEST_LINE = open(
  object(
    {
      time: number,
      id: text,
      method: text,
      path: text,
      status: integer,
      end: oneOf('complete', 'cut', 'hangup', 'refused'),
      ms: number,
      added: number,
      attempts: integer,
    },
    {
      version: described('Absent: no route had the path or the method.', integer),
      route: text,
      level: text,
      process: text,
      pid: integer,
      trace: text,
      request_id: text,
      bytes: integer,
      upstream: text,
      target: text,
      code: text,
      account: integer,
      account_name: text,
      key: integer,
      token: integer,
      model: text,
      cost: MONEY,
      first_byte: number,
      input_tokens: integer,
      cached_tokens: integer,
      output_tokens: integer,
      tries: list(ATTEMPT),
      skipped: list(SKIP),
      message: described('Of a 404 or 405: the error that the client got.', text),
      sent_ms: described('When the single attempt that succeeded was sent.', number),
      upstream_id: described('Of the response of that attempt.', text),
      dropped: any,
      details: any,
      msg: text,
    },
  ),
)
export type RequestLine = TypeOf<typeof REQUEST_LINE>
/** `request` null: this machine has no line of it; `trace_url` null: without `console.traces`. */
export const REQUEST_STORY = object({
  request: nullable(REQUEST_LINE),
  failed: nullable(FAILED_CALL),
  key_name: nullable(text),
  trace_url: nullable(text),
  charges: list(CHARGE),
  task: nullable(TASK_VIEW),
})
export type RequestStory = TypeOf<typeof REQUEST_STORY>
