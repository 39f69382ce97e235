/** The shape of `guards:`, and of the option `guard:` of a route. */
import {
  anyOf,
  duration,
  flag,
  integer,
  list,
  map,
  object,
  oneOf,
  oneOrMore,
  reading,
  required,
  type Shape,
  size,
  text,
  type ValueOf,
} from '../../engine/config/shape.ts'
import { FINDER_NAMES } from '../finders/index.ts'
import { LONGEST_WORD } from '../finders/words.ts'
import { retentionOf, zonesShape } from '../zones/rule.ts'

const NAME = '^[a-z][a-z0-9-]{0,40}$'
export const SIDES = ['request', 'answer'] as const
export type Side = (typeof SIDES)[number]

const oneOrSome = <W extends string>(word: Shape<W>) =>
  [word, list('Several of them.', word, { minItems: 1 })] as const
const listOf = <W extends string>(value: W | readonly W[]): readonly W[] => [value].flat() as W[]

const GUARD = object(
  'What a guard finds, and what it does then.',
  {
    find: reading(
      anyOf(
        'Kinds of texts: e-mail addresses, numbers of payment cards (with their check digit), IBANs, telephone numbers, IP addresses, secrets by the prefixes of their issuers, and phrases of prompt injection (a heuristic).',
        oneOrSome(oneOf('A kind of text.', FINDER_NAMES, { examples: ['email'] })),
        { examples: [['email', 'card', 'iban', 'phone', 'secret']] },
      ),
      listOf,
    ),
    words: list(
      'Words and phrases, whatever their case.',
      text('A word or a phrase.', {
        minLength: 1,
        maxLength: LONGEST_WORD,
        examples: ['project falcon'],
      }),
      { minItems: 1, examples: [['project falcon']] },
    ),
    words_file: text('A file with a word or phrase on each line.', { examples: ['words.txt'] }),
    patterns: map(
      'Patterns by name, in the syntax of RE2. Text that matches is named after its pattern.',
      text('A pattern.', { minLength: 1, maxLength: 2000, examples: ['TCK-[0-9]{6}'] }),
      { propertyNames: { pattern: '^[a-z][a-z_]{0,30}$' }, examples: [{ ticket: 'TCK-[0-9]{6}' }] },
    ),
    longest: integer(
      'Most characters of a text that `patterns` match: a stream is held back by as many.',
      {
        default: 128,
        minimum: 1,
        maximum: 4096,
        examples: [128],
      },
    ),
    webhook: text(
      'An address that decides about requests and answers. It gets `{guard, request, model, on, texts}` and answers `{action, texts}`: `pass`, `block`, or `mask` with the texts that replace those sent.',
      { pattern: '^https?://', examples: ['http://127.0.0.1:9000/check'] },
    ),
    zone: zonesShape(
      'The zones where the webhook processes texts: calls that demand another zone are not sent to it.',
    ),
    retention: retentionOf('The webhook keeps nothing: calls that demand this are sent to it.'),
    timeout: duration('How long the webhook or the model may take. A model needs it.', {
      default: '2s',
      examples: ['800ms'],
    }),
    max_bytes: size(
      'Most bytes of text that the webhook or the model gets in one question. A longer request or answer is not sent to it: `do: block` and `mask` refuse it, whatever `on_error` says; with `flag` and `shadow` it counts as a failure.',
      { default: '256KiB', examples: ['64KiB'] },
    ),
    model: text(
      'A model of `models:` that decides. It answers with the labels that apply; any label is a match. You pay its upstream, not the customer.',
      { minLength: 1, examples: ['gp-4.1-mini'] },
    ),
    prompt: text('Your rules for the model, in words.', {
      minLength: 1,
      maxLength: 20_000,
      examples: ['Our products are medicines. Dosages are permitted, diagnoses are not.'],
    }),
    labels: map(
      'What the model looks for: names, each with its description. Verdicts name them.',
      text('When the label applies.', {
        minLength: 1,
        maxLength: 2000,
        examples: ['asks for a diagnosis'],
      }),
      {
        propertyNames: { pattern: '^[a-z][a-z0-9_-]{0,40}$' },
        minProperties: 1,
        examples: [{ diagnosis: 'asks for a diagnosis' }],
      },
    ),
    on_error: oneOf(
      'What happens to a request or an answer whose webhook or model fails. Both need it.',
      ['pass', 'block'],
      { examples: ['block'] },
    ),
    on: reading(
      anyOf(
        'Where it looks: in requests (messages, calls and results of tools), in answers (texts, thoughts and calls of tools), or in both. Without it finders look in both, webhooks and models in requests.',
        oneOrSome(oneOf('A side.', SIDES, { examples: ['request'] })),
        { examples: [['request', 'answer']] },
      ),
      listOf,
    ),
    do: required(
      oneOf(
        '`block`: refuses the request or ends the answer. `mask`: puts a placeholder such as [EMAIL_1] in place of the text. `flag`: says it in `x-tollgate-guard`, and the log. `shadow`: says it in the log only.',
        ['block', 'mask', 'flag', 'shadow'],
        { examples: ['mask'] },
      ),
    ),
    restore: flag(
      'Whether placeholders of the request become the original texts again in the answer.',
      {
        default: false,
        examples: [true],
      },
    ),
    blocked: oneOf(
      'How an answer that is blocked and of which the client got nothing is charged: all of it, the tokens of its request only, or nothing. If the client has a part of it, all of it is charged.',
      ['charge', 'input', 'free'],
      { default: 'charge', examples: ['input'] },
    ),
  },
  { examples: [{ find: ['email', 'card'], do: 'mask', restore: true }] },
)
export type Guard = ValueOf<typeof GUARD>

export const SECTION = map('Guards by name. Routes name the guards that they have.', GUARD, {
  propertyNames: { pattern: NAME },
  examples: [{ pii: { find: ['email', 'card', 'iban'], do: 'mask', restore: true } }],
})
export const ROUTE = oneOrMore(
  'Guards of this route, by their names under `guards:`; each gets what the one before it left.',
  text('The name of a guard.', { pattern: NAME, examples: ['pii'] }),
  { examples: [['pii', 'words']] },
)

const DECIDED_BY_DEFAULT: readonly Side[] = ['request']
/** Whether the finders of a guard look there. */
export const findsIn = ({ on = SIDES }: Pick<Guard, 'on'>, side: Side): boolean => on.includes(side)
/** Whether the webhook or the model of a guard decides about requests, or about answers: these it
 *  cannot mask. */
export const decidesOn = (guard: Pick<Guard, 'on' | 'do'>, side: Side): boolean =>
  (guard.on ?? DECIDED_BY_DEFAULT).includes(side) && (side === 'request' || guard.do !== 'mask')
