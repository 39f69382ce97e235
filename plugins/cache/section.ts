/** The shape of `cache:`. */
import {
  duration,
  flag,
  integer,
  number,
  object,
  oneOf,
  type RawOf,
  required,
  size,
  text,
  type ValueOf,
} from '../../engine/config/shape.ts'

export const SECTION = object(
  'Answers that equal requests of one owner get again, and similar ones where you say so. Models use it by `cache: exact` or `cache: semantic`.',
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
    semantic: object(
      'Models with `cache: semantic` answer a request from that to a similar text, too: of one owner, with the same numbers in it, and with everything else equal. The options of `exact` hold for them. Similar is not equal: see docs/cache.md.',
      {
        model: required(
          text(
            'A model of `models:` that makes embeddings: the last text of the user is sent to it. You pay its upstream, not the customer.',
            { minLength: 1, examples: ['gp-embedding-3-small'] },
          ),
        ),
        threshold: number(
          'The cosine similarity of two texts from which on one gets the answer to the other. A client may raise it by `x-tollgate-cache-threshold`, and never lower it.',
          { minimum: 0.5, maximum: 0.9999, default: 0.95, examples: [0.97] },
        ),
        timeout: duration(
          'How long a request waits for its embedding; then it is sent. An answer to it is stored for equal requests only.',
          { pattern: '^([1-9][0-9]{0,3}ms|[1-9]s)$', default: '1s', examples: ['300ms'] },
        ),
        longest: size('Bytes of a text. A longer one is compared with equal ones only.', {
          default: '4KiB',
          examples: ['1KiB'],
        }),
        candidates: integer(
          'With how many earlier texts a text is compared: the newest of requests that are equal in all else.',
          { minimum: 1, maximum: 5000, default: 200, examples: [1000] },
        ),
      },
      { examples: [{ model: 'gp-embedding-3-small', threshold: 0.97 }] },
    ),
  },
  { examples: [{ exact: { ttl: '1h' } }] },
)
export type RawSection = RawOf<typeof SECTION>
export type Exact = ValueOf<typeof SECTION>['exact']
export type Semantic = NonNullable<ValueOf<typeof SECTION>['semantic']>
