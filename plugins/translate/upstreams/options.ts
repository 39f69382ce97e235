/** The keys that `translate` adds to upstreams and to settings. */
import { list, object, oneOf, readerOf, schemasOf, size } from '../../../engine/config/shape.ts'
import type { UpstreamView } from '../../../engine/plugin.ts'
import { MEDIA_KINDS } from '../../conversion/media-fetch.ts'
import { RULES } from '../../formats/hub/conversation-rules.ts'
import { knownFormats } from '../../formats/index.ts'

const UPSTREAM = {
  formats: list(
    'The wire formats that this upstream supports. Without it: any format that clients send.',
    oneOf('A wire format.', knownFormats, {
      type: 'string',
      $comment: 'formats',
      examples: ['openai-chat'],
    }),
    { minItems: 1, uniqueItems: true, examples: [['openai-chat', 'openai-responses']] },
  ),
  fetch: list(
    'Kinds of media that this upstream accepts only inside a request: the gateway fetches media that a client names by URL, from public addresses only, and sends it inline.',
    oneOf('A kind of media.', MEDIA_KINDS, { examples: ['video'] }),
    { uniqueItems: true, examples: [['image', 'video']] },
  ),
  rules: object(
    'What this upstream demands of conversations. Traits of a model win; without a rule, the family of the model decides by its name.',
    RULES,
    { minProperties: 1, examples: [{ call_ids: 9, user_after_results: false }] },
  ),
  upload: size(
    'The largest file that is uploaded to this upstream separately because it does not fit into a request. Without it such a file is refused. Only for upstreams with the format google-gemini, with one address and one key.',
    { pattern: '^[1-9][0-9]{0,3}(MiB|GiB)$', examples: ['2GiB'] },
  ),
}
export const upstreamSchemas = schemasOf(UPSTREAM)
const readUpstream = readerOf(UPSTREAM)
export const upstreamOptions = ({ options }: UpstreamView) => readUpstream(options as never)

const SETTINGS = {
  answer_model: oneOf(
    'The name of the model in answers: the one that the client asked for, or the one that the upstream sent.',
    ['asked', 'upstream'],
    { default: 'asked', examples: ['upstream'] },
  ),
}
export const settingSchemas = schemasOf(SETTINGS)
export const readSettings = readerOf(SETTINGS)
