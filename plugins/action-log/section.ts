/** The section `actions:` of routes.yaml: the key of the log of actions, how long rows are kept,
 *  and where its head is published. */
import {
  duration,
  integer,
  list,
  object,
  orElse,
  type RawOf,
  text,
  type ValueOf,
} from '../../engine/config/shape.ts'
import type { HostBase } from '../../engine/plugin.ts'

const KEY = { minLength: 32, maxLength: 512, format: 'password' } as const
const PUBLISH = object(
  'Where the head of the log is published: the number and the signature of its last row. A log that was cut or rewritten later differs from it.',
  {
    every: integer('After how many rows; a head that is older than an hour is published too.', {
      default: 20,
      minimum: 1,
      maximum: 10_000,
      examples: [1],
    }),
    file: text('A file that heads are added to; `actions/heads` in the data folder by default.', {
      minLength: 1,
      examples: ['/mnt/other-disk/heads'],
    }),
    webhook: text('An address that gets each head by POST.', {
      pattern: '^https?://',
      format: 'password',
      examples: ['https://log.example.com/heads'],
    }),
    secret: text('Signs messages to the webhook (`whsec_…`).', {
      pattern: '^whsec_',
      format: 'password',
      examples: ['${HEADS_SECRET}'],
    }),
  },
  { examples: [{ every: 1, webhook: 'https://log.example.com/heads' }] },
)

export const SECTION = object(
  'The log of actions: who changed what. Every change of an operator or a customer is in it, and every version of the configuration.',
  {
    key: text(
      'Signs the rows: 32 characters and more, the same on all machines of a store. Without it the file `actions/key` in the data folder, made at first use.',
      { ...KEY, examples: ['${ACTIONS_KEY}'] },
    ),
    earlier_keys: list(
      'Keys that signed earlier rows.',
      text('A key that `key` was before.', { ...KEY, examples: ['${OLD_ACTIONS_KEY}'] }),
      { default: [], examples: [['${OLD_ACTIONS_KEY}']] },
    ),
    keep: duration('Rows that are older are deleted; without it all are kept.', {
      pattern: '^[1-9][0-9]{0,4}d$',
      examples: ['400d'],
    }),
    publish: orElse(PUBLISH, {}),
  },
  { examples: [{ key: '${ACTIONS_KEY}', keep: '400d', publish: { every: 1 } }] },
)
type Section = ValueOf<typeof SECTION>

/** Commands read it unchecked: an empty key is none. */
export const sectionOf = ({ section }: Pick<HostBase, 'section'>): Section => {
  const { key, ...others } = section<RawOf<typeof SECTION>>('actions')
  return SECTION.read({ ...others, ...(key && { key }) })
}
