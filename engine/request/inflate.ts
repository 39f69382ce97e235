/** Compressed bodies made plain as they arrive, within bounds. */
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

/** A body of no coding known here comes out as it is; a fault of `raw` comes out as it was. */
export async function* inflate(
  raw: AsyncIterable<Bytes>,
  coding: string | undefined,
  limit: number,
): AsyncGenerator<Bytes> {
  const make = coding === undefined ? undefined : CODINGS[coding]
  if (!make) return yield* raw
  const plain = make()
  pipeline(raw, plain, () => {}) // what goes wrong comes out of `plain`
  let size = 0
  try {
    for await (const chunk of plain as AsyncIterable<Bytes>) {
      size += chunk.length
      if (size > limit) throw fault('BODY_BOMB', [limit])
      yield chunk
    }
  } catch (thrown) {
    if (thrown instanceof TollgateError) throw thrown
    throw fault('BODY_CORRUPT', [coding], { cause: thrown })
  }
}
