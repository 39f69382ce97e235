/** The name of this format: the origin of its raw steps. */
export const NAME = 'google-interactions'
