/** The origin of payloads and files of Google, which its formats share. */
export const GOOGLE = 'google-gemini'
