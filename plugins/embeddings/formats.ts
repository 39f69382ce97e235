/** Embedding formats by name, and that of a target. To add one: a file, a line here, and its name
 *  in plugins/formats/embedding.ts. */
import type { Bytes, HostBase, Target } from '../../engine/plugin.ts'
import {
  type EmbeddingName,
  embeddingFormatFor,
  embeddingFormatNamed,
} from '../formats/embedding.ts'
import { NO_NULLS, withoutNulls } from '../formats/json/null-members.ts'
import { supportedFormats } from '../formats/supported-formats.ts'
import { google } from './google.ts'
import type { EmbeddingFormat } from './hub.ts'
import { openai } from './openai.ts'

export const embeddingFormats: Readonly<Record<EmbeddingName, EmbeddingFormat>> = {
  openai,
  google,
}

/** The embedding format of a target: by the formats of its model or upstream, or else by the
 *  upstream's option `embeddings`. Undefined: it makes no embeddings. */
export const targetFormatOf = (
  target: Pick<Target, 'upstream' | 'traits'>,
  { upstreams }: Pick<HostBase, 'upstreams'>,
): EmbeddingFormat | undefined => {
  const upstream = upstreams[target.upstream]
  const usual = upstream?.options.embeddings
  const name = embeddingFormatFor(
    supportedFormats(target, upstream),
    typeof usual === 'string' ? embeddingFormatNamed(usual) : undefined,
  )
  return name && embeddingFormats[name]
}

/** Providers of embeddings refuse null members. */
export const omitNulls = (body: Bytes): Bytes => withoutNulls(body, NO_NULLS)
