/** The section `alerts:` of routes.yaml: rules, receivers and quiet hours. */
import {
  anyOf,
  duration,
  integer,
  list,
  number,
  object,
  objectOfDefaults,
  oneOf,
  orElse,
  parsed,
  type RawOf,
  required,
  text,
  type ValueOf,
} from '../../engine/config/shape.ts'
import { address } from '../webhooks/mail.ts'

const URL_TEXT = { pattern: '^https?://', format: 'password' } as const
export const CHATS = ['webhook', 'slack', 'feishu', 'dingtalk', 'wecom'] as const
export type Chat = (typeof CHATS)[number]

const chat = object(
  'A webhook, or the bot of a chat.',
  {
    kind: required(
      oneOf('The kind of its messages. `feishu` is Lark too.', CHATS, { examples: ['slack'] }),
    ),
    url: required(
      text('Its address; whoever has it can post there.', {
        ...URL_TEXT,
        examples: ['${SLACK_WEBHOOK}'],
      }),
    ),
    secret: text(
      'Signs messages to a webhook (`whsec_…`), to Feishu and to DingTalk. Without it they are not signed.',
      { format: 'password', examples: ['${DINGTALK_SECRET}'] },
    ),
  },
  { examples: [{ kind: 'slack', url: '${SLACK_WEBHOOK}' }] },
)

const mail = object(
  'A mail, through the server of `mail:`.',
  {
    kind: required(oneOf('A mail.', ['mail'], { examples: ['mail'] })),
    to: required(address('The address of its reader.', 'ops@example.com')),
  },
  { examples: [{ kind: 'mail', to: 'ops@example.com' }] },
)

const FOR = 'How long it must be so before a message is sent.'
/** `false`, or the settings of a rule. */
const OFF = oneOf(undefined, [false])
const hold = (fallback: string) => duration(FOR, { default: fallback, examples: ['5m'] })
const share = (description: string, fallback: string) =>
  parsed(
    description,
    '^([0-9]{1,2}(\\.[0-9]{1,2})?|100)%$',
    each => Number.parseFloat(each) / 100,
    {
      default: fallback,
      examples: [fallback],
    },
  )
const window = (fallback: string) =>
  duration('The time that is looked at.', {
    pattern: '^[1-9][0-9]{0,4}(s|m|h)$',
    default: fallback,
    examples: ['10m'],
  })
const calls = integer('With fewer calls in that time there is no alert.', {
  default: 20,
  minimum: 1,
  examples: [100],
})

const balance = object(
  'The balance of an account at a provider.',
  {
    upstream: required(
      text('A key of `upstreams:`; each of its keys is asked.', { examples: ['deepseek'] }),
    ),
    path: required(
      text('The path that answers it.', { pattern: '^/', examples: ['/user/balance'] }),
    ),
    at: required(
      text('Where the number is in the answer.', { examples: ['balance_infos.0.total_balance'] }),
    ),
    minus: text('A number in the answer that is subtracted.', { examples: ['data.total_usage'] }),
    below: required(number('A balance below this is an alert.', { examples: [10] })),
  },
  {
    examples: [
      {
        upstream: 'deepseek',
        path: '/user/balance',
        at: 'balance_infos.0.total_balance',
        below: 10,
      },
    ],
  },
)

/** Rules by name, each with its defaults. */
const RULES = {
  upstream_down: object('An address of an upstream is ejected.', { for: hold('1m') }),
  key_refused: object('A key of an upstream rests, because it was refused.', { for: hold('1m') }),
  error_share: object('Calls of a route fail: status 500 and above, or a reply that breaks off.', {
    for: hold('2m'),
    above: share('The share of failed calls.', '10%'),
    window: window('5m'),
    calls,
  }),
  p99: object('Calls of a route are slow.', {
    for: hold('5m'),
    above: duration('99 of 100 calls should take no longer.', {
      default: '2m',
      examples: ['30s'],
    }),
    window: window('10m'),
    calls,
  }),
  ledger: object('The hourly audit finds that the ledger does not balance.', { for: hold('1s') }),
  uncollected: object('Calls cost more than could be collected.', {
    for: hold('1s'),
    above: number('Their sum, in units of the currency.', {
      default: 0,
      minimum: 0,
      examples: [5],
    }),
    window: window('1h'),
  }),
  task_unknown: object('It is unknown of a task whether the upstream got it.', { for: hold('5m') }),
  disk: object('The disk of the data folder is nearly full.', {
    for: hold('1m'),
    below: share('The free share.', '10%'),
  }),
  certificate: object('The certificate of `settings.tls` ends soon.', {
    for: hold('1s'),
    before: duration('How long before its end.', { default: '14d', examples: ['30d'] }),
  }),
} as const
export type RuleName = keyof typeof RULES | 'balance' | 'budget'
export const RULE_NAMES = [...Object.keys(RULES), 'balance', 'budget'] as RuleName[]

const rule = <S extends (typeof RULES)[keyof typeof RULES]>(shape: S) =>
  orElse(
    anyOf(`${shape.schema.description} \`false\`: no alert.`, [OFF, shape], {
      examples: [{ for: '5m' }, false],
    }),
    {} as never,
  )

const TIME_OF_DAY = '^([01][0-9]|2[0-3]):[0-5][0-9]$'
const minutes = (word: string): number => Number(word.slice(0, 2)) * 60 + Number(word.slice(3))
const timeOfDay = (description: string, example: string) =>
  required(parsed(description, TIME_OF_DAY, minutes, { examples: [example] }))

const QUIET = object(
  'Hours of a day in which no message is sent; they are sent at the end.',
  {
    from: timeOfDay('Their beginning.', '22:00'),
    to: timeOfDay('Their end.', '07:00'),
    zone: text('The name of the time zone.', { default: 'UTC', examples: ['Europe/Berlin'] }),
    except: list(
      'Rules whose messages are sent at any time.',
      oneOf('A rule.', RULE_NAMES, { examples: ['ledger'] }),
      { default: [], examples: [['ledger', 'upstream_down']] },
    ),
  },
  { examples: [{ from: '22:00', to: '07:00', zone: 'Europe/Berlin' }] },
)
export type Quiet = ValueOf<typeof QUIET>

export const SECTION = object(
  'Alerts for operators: one message when a rule begins to be broken, one when it is kept again.',
  {
    to: required(
      list(
        'Receivers. Each gets every message.',
        anyOf('A receiver.', [chat, mail], { examples: [{ kind: 'mail', to: 'ops@example.com' }] }),
        {
          minItems: 1,
          examples: [[{ kind: 'slack', url: '${SLACK_WEBHOOK}' }]],
        },
      ),
    ),
    name: text('Names this gateway in messages.', { default: 'Tollgate', examples: ['eu-1'] }),
    every: duration('How often rules are looked at.', {
      pattern: '^[1-9][0-9]{0,4}(ms|s|m)$',
      default: '15s',
      examples: ['30s'],
    }),
    clear: duration('How long a rule must be kept before the message that says so.', {
      default: '1m',
      examples: ['5m'],
    }),
    quiet: QUIET,
    rules: objectOfDefaults(
      'Rules and their bounds. All apply unless they are `false`.',
      {
        upstream_down: rule(RULES.upstream_down),
        key_refused: rule(RULES.key_refused),
        error_share: rule(RULES.error_share),
        p99: rule(RULES.p99),
        ledger: rule(RULES.ledger),
        uncollected: rule(RULES.uncollected),
        task_unknown: rule(RULES.task_unknown),
        disk: rule(RULES.disk),
        certificate: rule(RULES.certificate),
      },
      { examples: [{ error_share: { above: '5%' }, p99: false }] },
    ),
    balances: list('Balances at providers that are asked for every ten minutes.', balance, {
      default: [],
      examples: [
        [
          {
            upstream: 'deepseek',
            path: '/user/balance',
            at: 'balance_infos.0.total_balance',
            below: 10,
          },
        ],
      ],
    }),
  },
  { examples: [{ to: [{ kind: 'slack', url: '${SLACK_WEBHOOK}' }] }] },
)
export type RawSection = RawOf<typeof SECTION>
export type Section = ValueOf<typeof SECTION>
export type Receiver = Section['to'][number]
export type MailReceiver = Extract<Receiver, { readonly kind: 'mail' }>
export type ChatReceiver = Exclude<Receiver, MailReceiver>
export type Rules = Section['rules']
export type BalanceRule = Section['balances'][number]
