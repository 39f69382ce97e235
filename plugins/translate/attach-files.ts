/** Replaces the stored files that a prompt names by their data. */
import type { Prompt } from '../formats/hub/prompt.ts'
import { mapMedia, referenceIn } from '../formats/hub/prompt-media.ts'
import { kindOfMime } from '../formats/media/media.ts'
import type { NamedFile } from '../slots.ts'

/** `files`: by the texts of the prompt that name them. */
export const attachFiles = async (
  prompt: Prompt,
  files: ReadonlyMap<string, NamedFile>,
): Promise<Prompt> => {
  const encodedFiles = new Map<string, string>()
  // One after another: each file is in memory twice while it is encoded.
  for (const [text, file] of files) encodedFiles.set(text, await file.base64())
  return mapMedia(prompt, media => {
    const text = referenceIn(media.source) ?? ''
    const [file, base64] = [files.get(text), encodedFiles.get(text)]
    if (!file || base64 === undefined) return media
    const { mime, filename } = file
    const source = { type: 'data', data: base64, mime, filename } as const
    return { ...media, kind: kindOfMime(mime), source }
  })
}
