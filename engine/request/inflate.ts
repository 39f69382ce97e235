/** Inflates compressed bodies as they arrive, up to a limit. */
import { pipeline, type Transform } from 'node:stream'
import zlib from 'node:zlib'
import { errors, TollgateError } from '../errors.ts'
import type { Bytes } from '../plugin.ts'

const fault = errors({
  BODY_BOMB: [413, 'The request body inflates to more than %d bytes.'],
  BODY_CORRUPT: [400, 'The request body is not valid %s.'],
})

const CODINGS: Readonly<Record<string, () => Transform>> = {
  gzip: () => zlib.createGunzip(),
  deflate: () => zlib.createInflate(),
  br: () => zlib.createBrotliDecompress(),
  zstd: () => zlib.createZstdDecompress(),
}

/** Passes an unknown coding through, and faults of `raw` unchanged. `limit`: bytes. */
export async function* inflate(
  raw: AsyncIterable<Bytes>,
  coding: string,
  limit: number,
): AsyncGenerator<Bytes> {
  const inflater = CODINGS[coding]?.()
  if (!inflater) return yield* raw
  pipeline(raw, inflater, () => {}) // errors are thrown by `inflater`
  let size = 0
  try {
    for await (const chunk of inflater as AsyncIterable<Bytes>) {
      size += chunk.length
      if (size > limit) throw fault('BODY_BOMB', [limit])
      yield chunk
    }
  } catch (error) {
    throw error instanceof TollgateError ? error : fault('BODY_CORRUPT', [coding], { cause: error })
  }
}
