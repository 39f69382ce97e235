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

const NAME = `^${TAG_NAME}$`
export const VALUE = `^${TAG_VALUE}$`

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
            list('These values.', text('A value.', { pattern: VALUE, examples: ['alpha'] }), {
              minItems: 1,
              uniqueItems: true,
            }),
            oneOf('Up to 64 letters, digits, dots, hyphens and underscores.', ['any'], {}),
          ],
          { examples: [['alpha', 'beta'], 'any'] },
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

type KnownTags = RawOf<typeof SECTION>['known']
/** The tags that calls may have, from the raw section. */
export const knownTagsIn = (section: Json | undefined): KnownTags =>
  isFields(section) && isFields(section.known) ? (section.known as KnownTags) : {}
/** Of a configuration without problems. */
export const knownTags = ({ section }: Pick<HostBase, 'section'>): KnownTags =>
  knownTagsIn(section('tags'))
