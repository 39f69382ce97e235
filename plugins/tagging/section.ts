/** The section `tags:`: which tags calls may have, and where they are read. */
import {
  anyOf,
  flag,
  list,
  map,
  object,
  oneOf,
  type RawOf,
  required,
  text,
} from '../../engine/config/shape.ts'
import { isFields } from '../../engine/kit.ts'
import type { HostBase, Json } from '../../engine/plugin.ts'
import { TAG_NAME, TAG_VALUE } from '../slots.ts'
import { type Place, retentionOf, zoneName } from '../zones/rule.ts'

const NAME = `^${TAG_NAME}$`
export const VALUE = `^${TAG_VALUE}$`

const TAG_VALUE_SHAPE = text('A value.', { pattern: VALUE, examples: ['alpha'] })
const TAG_ENTRY = anyOf('A value, or a value whose calls must be processed in a zone.', [
  TAG_VALUE_SHAPE,
  object(
    'A value; every target of its calls must satisfy the other members.',
    {
      value: required(TAG_VALUE_SHAPE),
      zone: zoneName('The zone of every target.'),
      retention: retentionOf('Every target says that it keeps nothing.'),
    },
    { minProperties: 2, examples: [{ value: 'beta', zone: 'eu' }] },
  ),
])

export const SECTION = object(
  'Tags of calls, such as a project: usage, receipts and exports show them. The stage `tags` reads them.',
  {
    header: text('The header with tags: `project=alpha, feature=search`.', {
      pattern: '^[a-z][a-z0-9-]{0,63}$',
      default: 'x-tollgate-tags',
      examples: ['x-cost-tags'],
    }),
    baggage: text(
      'The prefix of the names of tags in the W3C header `baggage`. Without it that header is not read.',
      { pattern: '^[a-z0-9._-]{0,32}$', examples: ['cost.'] },
    ),
    metadata: flag('Whether members of `metadata` or `labels` in the body are tags, too.', {
      default: false,
      examples: [true],
    }),
    known: required(
      map(
        'The tags that may be used. Others are left out, and `x-tollgate-dropped` names them.',
        anyOf(
          'Its values.',
          [
            list('These values.', TAG_ENTRY, { minItems: 1, uniqueItems: true }),
            oneOf('Up to 64 letters, digits, dots, hyphens and underscores.', ['any']),
          ],
          { examples: [['alpha', { value: 'beta', zone: 'eu' }], 'any'] },
        ),
        {
          propertyNames: { pattern: NAME },
          minProperties: 1,
          maxProperties: 16,
          examples: [{ project: ['alpha', 'beta'], feature: 'any' }],
        },
      ),
    ),
  },
  { examples: [{ known: { project: ['alpha', 'beta'], feature: 'any' } }] },
)

type RawTags = RawOf<typeof SECTION>['known']
const rawTagsIn = (section: Json | undefined): RawTags =>
  isFields(section) && isFields(section.known) ? (section.known as RawTags) : {}

/** The values of each tag; `any`: those of the form of values. */
export type KnownTags = Readonly<Record<string, readonly string[] | 'any'>>
/** The tags that calls may have, from the raw section. */
export const knownTagsIn = (section: Json | undefined): KnownTags =>
  Object.fromEntries(
    Object.entries(rawTagsIn(section)).map(([tag, values]) => [
      tag,
      Array.isArray(values) ? values.map(plainValue) : 'any',
    ]),
  )
const plainValue = (entry: string | { readonly value: string }): string =>
  typeof entry === 'string' ? entry : entry.value
/** Of a configuration without problems. */
export const knownTags = ({ section }: Pick<HostBase, 'section'>): KnownTags =>
  knownTagsIn(section('tags'))

/** A value whose calls must be processed in a place. */
export interface TagPlace {
  readonly tag: string
  readonly value: string
  /** Of the value in its list. */
  readonly index: number
  readonly place: Place
}
export const tagPlacesIn = (section: Json | undefined): readonly TagPlace[] =>
  Object.entries(rawTagsIn(section)).flatMap(([tag, values]) =>
    Array.isArray(values)
      ? values.flatMap((entry: string | ({ readonly value: string } & Place), index) => {
          if (typeof entry === 'string') return []
          const { value, ...place } = entry
          return [{ tag, value, index, place }]
        })
      : [],
  )
