/** The shape of `telemetry:`: receivers of traces and metrics, and which calls they get. */
import {
  anyOf,
  duration,
  integer,
  list,
  map,
  object,
  oneOf,
  parsed,
  type RawOf,
  required,
  text,
  type ValueOf,
} from '../../engine/config/shape.ts'
import { amountIn, DURATIONS } from '../../engine/kit.ts'

const URL_TEXT = { pattern: '^https?://', examples: ['http://127.0.0.1:4318'] }
const ENCODINGS = ['json', 'protobuf'] as const
const TEMPORALITIES = ['cumulative', 'delta'] as const
const receiver = object(
  'A receiver with headers, encoding or temporality of its own.',
  {
    url: required(text('Its address; /v1/traces and /v1/metrics are added.', URL_TEXT)),
    headers: map(
      'Headers of requests to it, such as its key.',
      text('The value of the header.', { format: 'password', examples: ['${LANGFUSE_KEY}'] }),
      { default: {}, examples: [{ 'dd-api-key': '${DATADOG_KEY}' }] },
    ),
    encoding: oneOf('The encoding of OTLP that it reads.', ENCODINGS, {
      default: 'json',
      examples: ['protobuf'],
    }),
    temporality: oneOf(
      '`cumulative`: metrics count since the start of the process. `delta`: since the report before that it accepted.',
      TEMPORALITIES,
      { default: 'cumulative', examples: ['delta'] },
    ),
  },
  { examples: [{ url: 'https://otlp.example.com', headers: { 'api-key': '${OTLP_KEY}' } }] },
)
const address = text('The address of a receiver.', URL_TEXT)

/** When a call is recorded whatever its share is. `slow`: ms. */
export type Always = { readonly word: 'error' | 'blocked' } | { readonly slow: number }
const always = parsed(
  '`error`: it ended with an error or early. `blocked`: a guard blocked it. `slow > 10s`: it took longer.',
  '^(error|blocked|slow > [1-9][0-9]{0,4}(ms|s|m))$',
  (word): Always =>
    word === 'error' || word === 'blocked'
      ? { word }
      : { slow: amountIn(word.slice(7), DURATIONS) },
  { examples: ['error', 'blocked', 'slow > 10s'] },
)

const CONVENTIONS = ['gen_ai/0.1.0', 'gen_ai/1.36.0'] as const
export type Conventions = (typeof CONVENTIONS)[number]

export const SECTION = object(
  'Traces and metrics of calls, sent by OTLP over HTTP. Prompts and answers are never part of them.',
  {
    to: required(
      anyOf(
        'The receiver, or a list of them. Each gets everything.',
        [address, list('Receivers.', anyOf('A receiver.', [address, receiver]), { minItems: 1 })],
        { examples: ['http://127.0.0.1:4318'] },
      ),
    ),
    service: text('The name of the service in traces and metrics.', {
      default: 'tollgate',
      examples: ['gateway'],
    }),
    conventions: oneOf(
      'The version of the semantic conventions that names the attributes.',
      CONVENTIONS,
      { default: 'gen_ai/0.1.0', examples: ['gen_ai/1.36.0'] },
    ),
    share: parsed(
      'The part of calls that is recorded as traces. Calls whose client sends `traceparent` follow its flag instead. Metrics count all calls.',
      '^([0-9]{1,2}(\\.[0-9]{1,4})?|100)%$',
      each => Number.parseFloat(each) / 100,
      { default: '100%', examples: ['5%'] },
    ),
    always: list('Calls that are recorded in any case.', always, {
      default: ['error'],
      examples: [['error', 'slow > 10s']],
    }),
    baggage: list(
      'Members of the W3C header `baggage` that become attributes and are sent to upstreams; others are dropped.',
      text('The name of a member.', {
        pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
        examples: ['team'],
      }),
      { default: [], examples: [['team']] },
    ),
    metrics: duration('How often metrics are sent.', { default: '15s', examples: ['1m'] }),
    queue: integer(
      'Most calls and attempts that wait for a receiver in each process; more are dropped and counted.',
      {
        default: 2048,
        minimum: 1,
        maximum: 100_000,
        examples: [2048],
      },
    ),
  },
  { examples: [{ to: 'http://127.0.0.1:4318', share: '5%', always: ['error', 'slow > 10s'] }] },
)
export type RawSection = RawOf<typeof SECTION>
export type Section = ValueOf<typeof SECTION>

export type Receiver = ValueOf<typeof receiver>
export const receiversOf = ({ to }: Section): readonly Receiver[] =>
  (typeof to === 'string' ? [to] : to).map(each => {
    const options = typeof each === 'string' ? receiver.read({ url: each }) : each
    return { ...options, url: options.url.replace(/\/+$/, '') }
  })
