/** The shape of `journal:`: where calls are written, which ones, and for how long. */
import {
  duration,
  list,
  object,
  oneOf,
  parsed,
  type RawOf,
  size,
  text,
  type ValueOf,
} from '../../engine/config/shape.ts'
import { FINDER_NAMES, type FinderName } from '../finders/index.ts'

const share = (description: string, more: object) =>
  parsed(
    description,
    '^([0-9]{1,2}(\\.[0-9]{1,4})?|100)%$',
    each => Number.parseFloat(each) / 100,
    more as { readonly default: '100%'; readonly examples: ['5%'] },
  )
const names = (description: string, example: string) =>
  list(description, text('A name, or the beginning of names and `*`.', { examples: [example] }), {
    minItems: 1,
    examples: [[example]],
  })

const RULE = object(
  'Calls that have all of these, and their share.',
  {
    models: names('Models, as `models:` names them.', 'gp-*'),
    routes: names('Names of routes.', 'chat'),
    accounts: names('Names of accounts.', 'acme'),
    share: share('The part of these calls that is written.', {
      default: '100%',
      examples: ['100%'],
    }),
  },
  { minProperties: 1, examples: [{ models: ['gp-*'], share: '100%' }] },
)
export type Rule = ValueOf<typeof RULE>

/** `injection` finds instructions, not personal data. */
const REDACTED = FINDER_NAMES.filter(name => name !== 'injection')

export const SECTION = object(
  'Requests and answers, written as JSON lines after guards have changed them.',
  {
    to: text(
      'The folder: `file:NAME` in the data folder, or `file:/PATH`; every machine writes its own. Or a bucket for all: `s3://BUCKET/PREFIX?endpoint=URL&region=R`.',
      {
        pattern: '^(file:[^\\x00]+|s3://.+)$',
        default: 'file:journal',
        examples: ['file:journal', 's3://logs/journal?region=eu-central-1'],
      },
    ),
    access_key: text('Access key id for a bucket.', { examples: ['${AWS_ACCESS_KEY_ID}'] }),
    secret_key: text('Secret access key for a bucket.', {
      format: 'password',
      examples: ['${AWS_SECRET_ACCESS_KEY}'],
    }),
    share: share('The part of calls that is written.', { default: '100%', examples: ['5%'] }),
    rules: list('Shares of some calls: the first rule that fits counts.', RULE, {
      default: [],
      examples: [[{ models: ['gp-*'], share: '100%' }]],
    }),
    redact: list(
      'Kinds of texts that are replaced by their name, such as [EMAIL], beside what guards mask.',
      oneOf('A kind of text.', FINDER_NAMES, { examples: ['email'] }),
      { default: REDACTED as FinderName[], examples: [['email', 'card', 'secret']] },
    ),
    keep: duration('How long records are kept.', {
      default: '3d',
      pattern: '^[1-9][0-9]{0,3}(m|h|d)$',
      examples: ['3d'],
    }),
    size: size(
      'Bytes of all records on a machine, or in the bucket: beyond them the oldest are removed.',
      {
        default: '1GiB',
        examples: ['1GiB'],
      },
    ),
    largest: size('Bytes of a record. A larger one has neither request nor answer.', {
      default: '256KiB',
      examples: ['256KiB'],
    }),
    consent: oneOf(
      '`account`: only calls of accounts that have consented (`tollgate journal consent`). `all`: calls of all accounts, since their contracts say so.',
      ['account', 'all'],
      { default: 'account', examples: ['account'] },
    ),
  },
  { minProperties: 1, examples: [{ to: 'file:journal', share: '1%', keep: '3d' }] },
)
export type RawSection = RawOf<typeof SECTION>
export type Section = ValueOf<typeof SECTION>
