/** Encrypts the API key that signs the callbacks of a task: AES-256-GCM, bound to the task. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { errors } from '../../engine/errors.ts'
import type { Bytes } from '../../engine/plugin.ts'

const fault = errors({
  CALLBACK_KEY: [500, 'the key that signs the callbacks of task %s cannot be decrypted'],
})

/** The name of the installation's secret. */
export const SECRET_NAME = 'task callbacks'
const ALGORITHM = 'aes-256-gcm'
const [IV_BYTES, TAG_BYTES] = [12, 16]

const encryptionKey = (secret: Bytes): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', 'callback key', 32))

/** Base64 of the nonce, the tag and the ciphertext. */
export const encryptKey = (secret: Bytes, task: string, key: string): string => {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(ALGORITHM, encryptionKey(secret), iv).setAAD(Buffer.from(task))
  const ciphertext = Buffer.concat([cipher.update(key, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), ciphertext]).toString('base64')
}

/** Throws CALLBACK_KEY where the text is that of another task or of another installation. */
export const decryptKey = (secret: Bytes, task: string, text: string): string => {
  try {
    const bytes = Buffer.from(text, 'base64')
    const iv = bytes.subarray(0, IV_BYTES)
    const tag = bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES)
    const decipher = createDecipheriv(ALGORITHM, encryptionKey(secret), iv, {
      authTagLength: TAG_BYTES,
    })
    decipher.setAAD(Buffer.from(task)).setAuthTag(tag)
    const ciphertext = bytes.subarray(IV_BYTES + TAG_BYTES)
    return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8')
  } catch (cause) {
    throw fault('CALLBACK_KEY', [task], { cause })
  }
}
