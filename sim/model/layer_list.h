/* layer_list.h - models that are a list of layers (CNNs, MLPs, recommendation models): counts, kernels and what the
 * backward pass keeps.
 *
 * A convolution is an implicit GEMM (Chetlur et al. 2014, cuDNN, arXiv:1410.0759, section 3): of a batch of b samples,
 * g groups, C input and K output channels, r x s kernels, P output pixels
 *   forward          M = b P, N = K / g, K = r s C / g            g products
 *   input gradient   M = b P stride^2, N = C / g, K = r s K / g / stride^2 (1 x 1: b P, C / g, K / g)
 *   weight gradient  M = K / g, N = r s C / g, K = b P
 * each of 2 b P r s C K / g FLOPs, and from memory each tensor once. Narrow groups share a product, and where each
 * channel is a group (depthwise) the vector units do it: cost/compute.h. Two things that libraries do besides. In fp32,
 * 3 x 3 kernels of stride 1 are Winograd's F(2 x 2, 3 x 3): 16 products over a quarter of the pixels, 4 / 9 of the
 * FLOPs (Lavin and Gray 2015, arXiv:1509.09308; its transforms are fused), depthwise ones apart, whose transforms would
 * cost more than they save. In tf32, images lie channels first as in fp32, and matrix units want channels last: input
 * and output of all but depthwise ones are each read and written once more (NVIDIA, "Convolutional Layers User's
 * Guide", on tensor layouts); half precision trains channels last. Batch normalization, activation, addition and
 * pooling move memory: per element of e bytes forward 3 e (statistics, then normalize), 2 e, 3 e, input and output;
 * backward 5 e, 3 e, 3 e. Channels times their factors (squeeze and excitation) take 2 e and 4 e. Any fusion but `none` makes one pass of a norm and the activation behind it, and of an
 * addition and its activation. Where it is also said to be in convolutions (software.batch_norm), the convolution before
 * writes the sums that a norm needs, a small kernel makes two factors a channel of them, and the addition at a block's end
 * normalizes what it adds: one norm of it (`sums-fused`: 2 e for all others), or both, and each convolution normalizes what it
 * reads (`fused`). Backward, the convolution that makes an input's gradient then also masks and sums it, for which it
 * reads the norm's input, and of a sum the other branch's gradient too; 3 e apply it (cuDNN's DgradDreluBNBwdWeight and
 * ConvBNwgrad, which makes its operand again of the norm's input, so that this alone is kept). A list trains in data-parallel replicas and, by whole blocks, in the stages of a
 * pipeline: its shapes are whole.
 *
 * A transposed convolution from C channels of P pixels to K of P stride^2 is the input gradient of the convolution from K to C,
 * whose forward pass is its input gradient (Dumoulin and Visin 2016, arXiv:1603.07285, chapter 4): its products are that one's.
 *
 * A GAN (Goodfellow et al. 2014, arXiv:1406.2661; Radford et al. 2015, arXiv:1511.06434) is a list that generates and a
 * discriminator behind it. A step is a batch of b images from outside and b generated ones: one update of each network, in turn.
 *   discriminator   both batches forward and backward, each by itself (batch norm), no gradient of its images
 *   generator       generated once, forward and backward; the discriminator judges the same images again, with its new
 *                   weights, and passes on the gradient of the images, not of its weights
 * so that a MAC counts 6 FLOPs in the generator, and 2 x 6 + 4 in the discriminator. Memory holds at once what both keep of one
 * batch. The gradients of each are reduced once. */
#ifndef TSIM_MODEL_LAYER_LIST_H
#define TSIM_MODEL_LAYER_LIST_H

#include "model/operators.h"

double tsim_list_parameters(const struct tsim_model *model); /* without embedding tables */
/* Counts the multiplications with addition of one sample's forward pass. */
double tsim_list_macs(const struct tsim_model *model);
/* Returns the model FLOPs of training on a sample: 2 forward, 4 backward of each MAC, without the first layer's input
 * gradient; GANs as above. */
double tsim_list_flops_per_sample(const struct tsim_model *model);

/* Makes the model that consecutive blocks are by themselves. */
void tsim_list_part(const struct tsim_model *model, int64_t first_block, int64_t n_blocks, struct tsim_model *part);

#endif
