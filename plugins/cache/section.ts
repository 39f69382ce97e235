/** The shape of `cache:`. */
import {
  duration,
  flag,
  object,
  oneOf,
  type RawOf,
  size,
  type ValueOf,
} from '../../engine/config/shape.ts'

export const SECTION = object(
  'Answers that equal requests of one owner get again. Models use it by `cache: exact`.',
  {
    exact: object(
      'How the cache of equal requests works.',
      {
        ttl: duration('How long an answer is served.', { default: '1h', examples: ['1h'] }),
        share: oneOf(
          'Who gets an answer: `member`, the member of the team whose call it was (or the account itself, for its own keys); `team`: all members of the account. Never another account.',
          ['member', 'team'],
          { default: 'member', examples: ['team'] },
        ),
        memory: size('Bytes of answers in the memory of each process.', {
          default: '16MiB',
          examples: ['16MiB'],
        }),
        store: size('Bytes of answers in the store, which all processes and machines read.', {
          default: '64MiB',
          examples: ['64MiB'],
        }),
        largest: size('Bytes of an answer. A larger one is not stored.', {
          default: '256KiB',
          examples: ['256KiB'],
        }),
        any_temperature: flag(
          'Whether answers of requests are stored whose temperature is not 0, too.',
          { default: false, examples: [true] },
        ),
        leader: oneOf(
          'Who decides which of equal requests at once is sent: `process`, each process for its own requests; `store`, the store for those of all processes and machines, at one write for each request that is sent.',
          ['process', 'store'],
          { default: 'process', examples: ['store'] },
        ),
        wait: duration(
          'How long an equal request waits for the answer of the first one; then it is sent, too.',
          { pattern: '^([1-9][0-9]{0,4}ms|[1-4]?[0-9]s)$', default: '30s', examples: ['30s'] },
        ),
      },
      { default: {}, examples: [{ ttl: '1h', share: 'team' }] },
    ),
  },
  { examples: [{ exact: { ttl: '1h' } }] },
)
export type RawSection = RawOf<typeof SECTION>
export type Exact = ValueOf<typeof SECTION>['exact']
